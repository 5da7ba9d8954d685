package durable

import (
	"errors"
	"io"
	"io/fs"
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

// A file can appear between a look at the name and the rename.
func TestNewFileReplacesNoFileThatAppearsMeanwhile(t *testing.T) {
	top := t.TempDir()
	dir, err := fsops.OpenDir(top)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	path := filepath.Join(top, "file")
	err = new(Disk).NewFile(dir, "file", 0o600, func(io.Writer) error { return os.WriteFile(path, []byte("others"), 0o600) })
	if !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "others" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if left := names(t, top); len(left) != 1 {
		t.Errorf("left are %q", left)
	}
}
