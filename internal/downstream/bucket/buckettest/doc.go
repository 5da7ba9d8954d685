// Package buckettest runs a real S3 server for tests: versitygw, which keeps each object
// as a file in a folder.
package buckettest
