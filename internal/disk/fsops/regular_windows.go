package fsops

import "io/fs"

// withoutWaiting is empty: folders of Windows hold no FIFO.
const withoutWaiting = 0

// PermOf returns what the owner may do. Access lists say what others may do, and they are
// not read.
func PermOf(info fs.FileInfo) fs.FileMode { return info.Mode().Perm() & 0o700 }
