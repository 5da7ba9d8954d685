// Package election decides which of several publishers of one bucket writes, by a lease in
// the bucket and conditional writes.
package election
