package durable

import (
	"errors"
	"os"
)

// fsync needs a file that was opened for writing.
func fsync(f *os.File) error { return f.Sync() }

// fsyncDir does nothing: Windows has no such call. fsops.Move waits for the disk there.
func fsyncDir(*os.File) error { return nil }

// Nothing calls these: HasReliableSyncfs is false.
func syncfs(*os.File) error { return errors.ErrUnsupported }

func checkWritten(int) error { return errors.ErrUnsupported }
