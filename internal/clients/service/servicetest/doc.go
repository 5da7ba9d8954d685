// Package servicetest helps to test client packages. Its HTTP server keeps every
// request and sends the answers that the test chooses. Golden compares requests
// with committed files, which `go test -update` writes.
package servicetest
