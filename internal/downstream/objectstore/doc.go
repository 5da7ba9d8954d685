// Package objectstore reads and writes objects below a prefix of a bucket of an S3 server.
// It knows nothing of what the objects mean.
//
// It repeats requests after transient faults until a retry budget is used up, and turns the
// others into errors that name the next step. Writes can have conditions: ErrChanged says that
// one was not met. A server, or another writer of the bucket, may answer for ever; so every
// request belongs to a job, whose Budget bounds its requests, the bytes of its answers and its
// time. A caller that may lose the right to write is asked before each request that changes
// something, and again before each write on the connection.
package objectstore
