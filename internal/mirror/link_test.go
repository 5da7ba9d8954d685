package mirror

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"syncd/internal/disk/fsops"
)

// A release may have any number of folders, and a process few descriptors.
func TestFewFoldersOfATreeAreOpenAtOnce(t *testing.T) {
	dir := t.TempDir()
	root, err := fsops.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	open := openDirs{root: root, limit: 3}
	defer open.close()
	var files []*os.File
	for i := range 10 {
		name := fmt.Sprint(i)
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		file, err := open.open(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		still := 0
		for _, f := range files {
			if _, err := f.Stat(); err == nil {
				still++
			}
		}
		if still > open.limit {
			t.Errorf("%d folders are open", still)
		}
	}
}
