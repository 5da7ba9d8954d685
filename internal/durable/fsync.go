//go:build !nofsync

package durable

import "os"

// NoFsync is true in builds that exist to show that the tests of power cuts can
// fail.
const NoFsync = false

func fsync(f *os.File) error { return f.Sync() }
