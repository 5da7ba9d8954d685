// Package space computes free and needed space of a file system, in bytes and
// inodes, and refuses work that does not fit.
package space
