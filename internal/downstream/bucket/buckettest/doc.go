// Package buckettest runs real S3 servers for tests: versitygw, which keeps each object as a
// file in a folder, and those of two other makers, which have fewer features.
package buckettest
