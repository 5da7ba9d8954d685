//go:build !windows

package fsops

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSweepTempsRemovesOnlyTempNames(t *testing.T) {
	dir := t.TempDir()
	seen := map[string]bool{}
	for range 100 {
		temp := TempName(filepath.Join(dir, "000007"))
		if seen[temp] || filepath.Dir(temp) != dir {
			t.Fatalf("temporary name %s", temp)
		}
		seen[temp] = true
	}
	write(t, TempName(filepath.Join(dir, "file")), "x")
	write(t, filepath.Join(TempName(filepath.Join(dir, "tree")), "sub", "file"), "x")
	must(t, os.Symlink("nowhere", TempName(filepath.Join(dir, "link"))))
	write(t, filepath.Join(dir, "kept"), "x")
	write(t, filepath.Join(dir, "tree", ".tmp-within"), "x")
	for range 2 {
		must(t, open(t, dir).SweepTemps("."))
		if diff := cmp.Diff([]string{"kept", "tree"}, names(t, dir)); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff([]string{".tmp-within"}, names(t, filepath.Join(dir, "tree"))); diff != "" {
		t.Error(diff)
	}
	if err := open(t, dir).SweepTemps("missing"); err != nil {
		t.Errorf("missing folder: %v", err)
	}
}

func TestRemoveTreeRemovesReadOnlyFilesAndIgnoresAMissingTree(t *testing.T) {
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	write(t, filepath.Join(tree, "sub", "file"), "x")
	must(t, os.Chmod(filepath.Join(tree, "sub", "file"), 0o444))
	for range 2 {
		must(t, open(t, dir).RemoveTree("tree"))
		if diff := cmp.Diff([]string{}, names(t, dir)); diff != "" {
			t.Error(diff)
		}
	}
}

// Who can write in a folder can give any name in it to a tree of others.
func TestNoTreeThatTookANameIsRemoved(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	write(t, filepath.Join(dir, "own", "file"), "x")
	write(t, filepath.Join(dir, "others", "sub", "file"), "x")
	own, err := d.OpenDir("own")
	must(t, err)
	must(t, os.Rename(filepath.Join(dir, "own"), filepath.Join(dir, "away")))
	must(t, os.Rename(filepath.Join(dir, "others"), filepath.Join(dir, "own")))
	if err := RemoveFolder(d, "own", own); err == nil {
		t.Error("no error")
	}
	DiscardFile(d, "own")
	if diff := cmp.Diff([]string{"file"}, names(t, filepath.Join(dir, "own", "sub"))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{}, names(t, filepath.Join(dir, "away"))); diff != "" {
		t.Error(diff)
	}
	own, err = d.OpenDir("away")
	must(t, err)
	must(t, RemoveFolder(d, "away", own))
	if diff := cmp.Diff([]string{"own"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
}
