package durable

import (
	"os"

	"syncd/internal/disk/fsops"
)

// openToSync opens a file for writing, which Sync needs, or else a directory.
func openToSync(dir *fsops.Dir, name string) (*os.File, error) {
	f, err := dir.OpenToWrite(name, 0)
	if err != nil {
		return dir.Open(name)
	}
	return f, nil
}
