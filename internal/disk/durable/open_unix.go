//go:build !windows

package durable

import (
	"os"

	"syncd/internal/disk/fsops"
)

func openToSync(dir *fsops.Dir, name string) (*os.File, error) { return dir.Open(name) }
