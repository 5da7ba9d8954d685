//go:build !windows

package durable

import (
	"os"

	"syncd/internal/fsops"
)

func openToSync(dir *fsops.Dir, name string) (*os.File, error) { return dir.Open(name) }
