//go:build !windows

package store

// initialMap is how much address space the file gets. When a file outgrows its mapping in a
// change, bbolt copies all that it is about to write: 30 MiB for 250,000 files.
const initialMap = 128 << 20
