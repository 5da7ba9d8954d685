package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDataDirIsMarkedWhenItIsMade(t *testing.T) {
	rows := map[string]func(dir string) error{
		"missing":           func(string) error { return nil },
		"missing parents":   func(string) error { return nil },
		"empty":             func(dir string) error { return os.Mkdir(dir, 0o755) },
		"a new file system": func(dir string) error { return os.MkdirAll(filepath.Join(dir, "lost+found"), 0o755) },
		"marked by a kill": func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, Mark), nil, 0o600))
		},
		"a link to an empty one": func(dir string) error { return errors.Join(os.Mkdir(dir+".real", 0o755), os.Symlink(dir+".real", dir)) },
	}
	for name, prepare := range rows {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if name == "missing parents" {
				dir = filepath.Join(t.TempDir(), "srv", "mirrors", "data")
			}
			must(t, prepare(dir))
			for range 2 {
				must(t, openForChangesAt(dir))
			}
			if info, err := os.Lstat(filepath.Join(dir, Mark)); err != nil || !info.Mode().IsRegular() {
				t.Errorf("no mark: %v", err)
			}
		})
	}
}

// oldMirrors are data directories of a version that made no mark.
func oldMirrors() map[string]func(dir string) error {
	write := func(dir, name string) error {
		path := filepath.Join(dir, name)
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("x"), 0o600))
	}
	return map[string]func(dir string) error{
		"killed at its first start": func(dir string) error { return write(dir, "state/lock") },
		"never published": func(dir string) error {
			return errors.Join(write(dir, "state/syncd.db"), os.Mkdir(filepath.Join(dir, "objects"), 0o755))
		},
		"without state": func(dir string) error {
			return errors.Join(write(dir, "generations/000001/a.json"), os.Symlink("generations/000001", filepath.Join(dir, "current")))
		},
		"never published and without state": func(dir string) error {
			return errors.Join(write(dir, "generations/.tmp-x/y"), write(dir, "revisions/x"), write(dir, "objects/x"), write(dir, "partial/x"))
		},
		"with a leftover": func(dir string) error {
			return errors.Join(write(dir, "state/syncd.db"), write(dir, ".tmp-current-ABCDEFGHIJ"), write(dir, "lost+found/x"))
		},
	}
}

func TestMirrorOfAVersionWithoutMarkIsMarked(t *testing.T) {
	for name, prepare := range oldMirrors() {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			must(t, prepare(dir), openAt(dir), openForChangesAt(dir))
			if _, err := os.Lstat(filepath.Join(dir, Mark)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFolderWithOtherContentIsRefused(t *testing.T) {
	foreign := map[string][]string{
		"a git repository":        {"HEAD", "objects/ab/cdef", "refs/heads/main"},
		"a working tree":          {".git/HEAD", "README"},
		"folders of these names":  {"objects/ab/cdef", "state/notes"},
		"one file":                {"notes"},
		"a temporary name":        {".tmp-mine"},
		"a mirror and more":       {"state/syncd.db", "README"},
		"a mark that is a folder": {Mark + "/file", "notes"},
	}
	for name, files := range foreign {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range files {
				path := filepath.Join(dir, file)
				must(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("x"), 0o600))
			}
			before := listing(t, dir)
			err := openForChangesAt(dir)
			if err == nil || !strings.Contains(err.Error(), dir+" holds") || !strings.Contains(err.Error(), "choose an empty folder") {
				t.Errorf("%v", err)
			}
			if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
				t.Errorf("something changed: %s", diff)
			}
		})
	}
}

func TestDataDirInsideAnotherIsRefused(t *testing.T) {
	outer := prepared(t)
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(filepath.Join(outer, "partial"), link))
	for _, dir := range []string{filepath.Join(outer, "sub"), filepath.Join(outer, "objects"), filepath.Join(outer, "new", "deep", "er"), link, filepath.Join(link, "new")} {
		if err := openForChangesAt(dir); err == nil || !strings.Contains(err.Error(), "lies in the data_dir "+outer) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(outer, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a parent was made: %v", err)
	}
	for name, prepare := range oldMirrors() {
		old := filepath.Join(t.TempDir(), "old")
		must(t, prepare(old))
		if err := openForChangesAt(filepath.Join(old, "sub")); !strings.Contains(name, "killed") && !strings.Contains(name, "without state") && (err == nil || !strings.Contains(err.Error(), "lies in the data_dir")) {
			t.Errorf("in an unmarked mirror, %s: %v", name, err)
		}
	}
}

func TestDataDirThatContainsAnotherIsRefused(t *testing.T) {
	for _, name := range []string{"inner", ".inner", "objects"} {
		dir := prepared(t)
		inner := filepath.Join(dir, name)
		must(t, os.MkdirAll(inner, 0o755), os.WriteFile(filepath.Join(inner, Mark), nil, 0o444))
		if err := openForChangesAt(dir); err == nil || !strings.Contains(err.Error(), "contains another data_dir, "+inner) {
			t.Errorf("%v", err)
		}
	}
}
