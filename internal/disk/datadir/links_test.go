package datadir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/disk/fsops"
)

// The owner of the folder above data_dir chose a folder of root in which syncd of root worked.
func TestRootFollowsNoLinkOfAnotherUserToDataDir(t *testing.T) {
	asRoot(t)
	top := t.TempDir()
	home, empty, mirror := filepath.Join(top, "home"), filepath.Join(top, "empty"), filepath.Join(top, "mirror")
	must(t, os.Mkdir(home, 0o755), os.Mkdir(empty, 0o755), openForChangesAt(mirror), os.Chown(home, stranger, stranger))
	link := func(name, target string, uid int) string {
		path := filepath.Join(home, name)
		must(t, os.Symlink(target, path), os.Lchown(path, uid, uid))
		return path
	}
	ofRoot := filepath.Join(top, "link") // to a folder of that user
	must(t, os.Symlink(home, ofRoot))
	for name, path := range map[string]string{
		"to an empty folder":            link("empty", empty, stranger),
		"to another mirror":             link("mirror", mirror, stranger),
		"of root, in that user's":       link("root", empty, 0),
		"above data_dir":                filepath.Join(link("above", top, stranger), "empty"),
		"above a missing data_dir":      filepath.Join(link("missing", top, stranger), "made", "data"),
		"by a link of root to the link": filepath.Join(ofRoot, "empty"),
	} {
		for _, err := range []error{openForChangesAt(path), Check(path)} {
			if err == nil || !strings.Contains(err.Error(), "another user can change") && !(name == "above a missing data_dir" && os.IsNotExist(err)) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if names, err := filepath.Glob(filepath.Join(empty, "*")); err != nil || len(names) > 0 {
		t.Errorf("the folder of root holds %v, %v", names, err)
	}
	if _, err := os.Lstat(filepath.Join(top, "made")); err == nil {
		t.Error("a folder was made where the link leads")
	}
	for name, path := range map[string]string{
		"a folder of root in that user's": filepath.Join(home, "data"),
		"a missing folder above it":       filepath.Join(home, "new", "data"),
		"by a link of root":               filepath.Join(ofRoot, "other"),
	} {
		must(t, openForChangesAt(path), openForChangesAt(path), Check(path))
		if !isRegular(os.Lstat(filepath.Join(path, Mark))) {
			t.Errorf("%s: not marked", name)
		}
	}
}

// The path is checked once more against the folder that was opened.
func TestDataDirThatWasExchangedWhileItWasOpenedIsRefused(t *testing.T) {
	asRoot(t)
	top := t.TempDir()
	home := filepath.Join(top, "home")
	data, moved := filepath.Join(home, "data"), filepath.Join(home, "moved")
	must(t, os.Mkdir(home, 0o755), os.Chown(home, stranger, stranger), os.Mkdir(data, 0o755))
	d, err := fsops.OpenDir(data)
	must(t, err, os.Rename(data, moved), os.Mkdir(data, 0o755))
	defer d.Close()
	if err := checkLinks(d); err == nil || !strings.Contains(err.Error(), "was exchanged by another user") {
		t.Errorf("%v", err)
	}
	must(t, os.Remove(data), os.Rename(moved, data), checkLinks(d))
}
