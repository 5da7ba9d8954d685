package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"syncd/internal/disk/fsops"
)

// Who can write in the folder of a file can put a tree of others in the place of the new one.
func TestATreeInThePlaceOfANewFileStays(t *testing.T) {
	top := t.TempDir()
	dir, err := fsops.OpenDir(top)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := os.WriteFile(filepath.Join(top, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kept := ""
	err = new(Disk).ReplaceFile(dir, "file", 0o600, func(io.Writer) error {
		found, err := filepath.Glob(filepath.Join(top, ".tmp-*"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		kept = filepath.Join(found[0], "of others")
		return errors.Join(os.Remove(found[0]), os.Mkdir(found[0], 0o700), os.WriteFile(kept, nil, 0o600))
	})
	if err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}
