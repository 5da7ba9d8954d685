// Package signature signs requests to object storage (AWS Signature Version 4). The
// credentials come from where all tools of S3 look for them, and never from the
// configuration.
package signature
