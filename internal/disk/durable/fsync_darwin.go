package durable

import (
	"errors"
	"os"
)

// fsync asks the disk, too, to write its cache: Go uses F_FULLFSYNC.
func fsync(f *os.File) error { return f.Sync() }

func fsyncDir(f *os.File) error { return f.Sync() }

// Nothing calls these: HasReliableSyncfs is false.
func syncfs(*os.File) error { return errors.ErrUnsupported }

func checkWritten(int) error { return errors.ErrUnsupported }
