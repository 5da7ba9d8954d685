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
	if err := os.Symlink("nowhere", TempName(filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "kept"), "x")
	write(t, filepath.Join(dir, "tree", ".tmp-within"), "x")
	for range 2 {
		if err := open(t, dir).SweepTemps("."); err != nil {
			t.Fatal(err)
		}
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
	if err := os.Chmod(filepath.Join(tree, "sub", "file"), 0o444); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := open(t, dir).RemoveTree("tree"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{}, names(t, dir)); diff != "" {
			t.Error(diff)
		}
	}
}
