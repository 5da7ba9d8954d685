//go:build !linux

package fsops

import "os"

// Reach returns the path by which a file was opened: elsewhere, no thread has another user's
// permissions, and no link leads past a folder.
func Reach(f *os.File) (path string, err error) { return f.Name(), nil }
