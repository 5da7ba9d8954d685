// Package certificate reads the files that a client needs for TLS: the roots that it
// trusts, and its own certificate.
package certificate
