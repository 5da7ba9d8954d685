package fsops

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// folder returns an open folder. Wine cannot remove it as t.TempDir does.
func folder(t *testing.T) *Dir {
	t.Helper()
	path, err := os.MkdirTemp("", "fsops-")
	must(t, err)
	d, err := OpenDir(path)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func create(t *testing.T, d *Dir, name, content string) {
	t.Helper()
	err := d.CreateFile(name, 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	})
	must(t, err)
}

func TestMoveNewReplacesNoFileAndMoveDoes(t *testing.T) {
	d := folder(t)
	create(t, d, "new", "new")
	create(t, d, "old", "old")
	if err := MoveNew(d, "new", d, "old"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("MoveNew: %v", err)
	}
	if err := Move(d, "new", d, "old"); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(d.Path("old")); err != nil || string(data) != "new" {
		t.Errorf("%q, %v", data, err)
	}
	if err := MoveNew(d, "old", d, "other"); err != nil {
		t.Error(err)
	}
}

func TestRemoveAllRemovesReadOnlyFiles(t *testing.T) {
	d := folder(t)
	must(t, errors.Join(d.MakeDir("tree", 0o700), d.MakeDir("tree/sub", 0o700)))
	create(t, d, filepath.Join("tree", "sub", "file"), "x")
	if err := errors.Join(d.Chmod("tree/sub/file", 0o444), d.RemoveAll("tree")); err != nil {
		t.Error(err)
	}
	if _, err := d.Lstat("tree"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestOpenRefusesDevicesStreamsAndParents(t *testing.T) {
	d := folder(t)
	create(t, d, "file", "x")
	for _, name := range []string{"NUL", "con", "file:stream", `..\file`, "../file", `C:\file`, `\file`} {
		if f, err := d.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
			f.Close()
			t.Errorf("%s was opened", name)
		}
	}
}

func TestFreeTellsBytesAndNoLimitOfFiles(t *testing.T) {
	if bytes, inodes, err := folder(t).Free(); err != nil || bytes <= 0 || inodes != -1 {
		t.Errorf("%d bytes, %d inodes, %v", bytes, inodes, err)
	}
}

func TestExchangeIsRefused(t *testing.T) {
	d := folder(t)
	if err := Exchange(d, "a", d, "b"); err == nil {
		t.Error("no error")
	}
}
