package contender

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// Names returns a command that makes files as a mirror has them, and does nothing else: each is
// created under a temporary name, renamed into one of 256 folders, and linked into a tree.
func Names(dir string, files int) (*exec.Cmd, error) {
	self, err := os.Executable()
	cmd := exec.Command(self, "-names", strconv.Itoa(files))
	cmd.Dir = dir
	return cmd, err
}

// MakeNames is that command, in the working directory.
func MakeNames(files int) error {
	for _, folder := range []string{"partial", "objects", "tree"} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
	}
	content := make([]byte, 4096)
	for i := range files {
		sum := sha256.Sum256([]byte(strconv.Itoa(i)))
		name := hex.EncodeToString(sum[:])
		temp, object := filepath.Join("partial", name), filepath.Join("objects", name[:2], name)
		if err := os.WriteFile(temp, content, 0o444); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(object), 0o755); err != nil {
			return err
		}
		if err := os.Rename(temp, object); err != nil {
			return err
		}
		if err := os.Link(object, filepath.Join("tree", strconv.Itoa(i)+".dat")); err != nil {
			return err
		}
	}
	return nil
}
