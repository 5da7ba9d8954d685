//go:build !linux

package adopt

import (
	"errors"
	"os"

	"syncd/internal/disk/fsops"
)

// isMovable is false: without leases, nothing tells that no program writes into a file.
func isMovable(*os.File, *fsops.Dir) bool { return false }

func lease(*os.File) error { return errors.ErrUnsupported }

func isLeased(*os.File) bool { return false }
