package control

import (
	"errors"
	"os"
	"path/filepath"
)

func peerOf(int) (uid int, err error) { return 0, errors.ErrUnsupported }

// shortPath names the socket by its path. The caller must close the folder.
func shortPath(stateDir string) (path string, dir *os.File, err error) {
	dir, err = os.Open(stateDir)
	return filepath.Join(stateDir, socketName), dir, err
}
