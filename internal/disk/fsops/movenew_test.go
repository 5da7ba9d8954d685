//go:build !windows

package fsops

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestMoveNewReplacesNothing(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	for name, make := range map[string]func(path string) error{
		"a file":         func(path string) error { return os.WriteFile(path, []byte("others"), 0o600) },
		"an empty tree":  func(path string) error { return os.Mkdir(path, 0o700) },
		"a dead symlink": func(path string) error { return os.Symlink("nothing", path) },
	} {
		from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
		must(t, make(from))
		must(t, make(to))
		before, err := os.Lstat(to)
		must(t, err)
		if err := MoveNew(d, "from", d, "to"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.Lstat(to); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s was replaced: %v", name, err)
		}
		must(t, os.RemoveAll(to))
		if err := MoveNew(d, "from", d, "to"); err != nil {
			t.Errorf("%s to a free name: %v", name, err)
		}
		must(t, os.RemoveAll(to))
	}
}
