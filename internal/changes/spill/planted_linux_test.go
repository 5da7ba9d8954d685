package spill

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"syncd/internal/disk/fsops"
)

// Root compares in a data directory of another user, who can put a tree of root in the place
// of a scratch file.
func TestATreeInThePlaceOfAScratchFileStays(t *testing.T) {
	defer func(was bool) { removesOpenFiles = was }(removesOpenFiles)
	removesOpenFiles = false // the user was faster than the first removal
	top := t.TempDir()
	dir, err := fsops.OpenDir(top)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	_, remove, err := Folder{Dir: dir}.File()
	if err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(top, ".tmp-*"))
	if len(found) != 1 {
		t.Fatal(found)
	}
	kept := filepath.Join(found[0], "of root")
	if err := errors.Join(os.Remove(found[0]), os.Mkdir(found[0], 0o700), os.WriteFile(kept, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	remove()
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}
