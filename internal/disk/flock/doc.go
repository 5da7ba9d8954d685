// Package flock keeps a second syncd out of a data directory: an exclusive
// flock(2) on a file that holds the owner's process id.
package flock
