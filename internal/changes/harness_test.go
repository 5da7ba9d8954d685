package changes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"syncd/internal/changes/spill"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
)

// compare compares two contents as one file.
func compare(t testing.TB, before, after []byte, rule Rule, tables int) Change {
	t.Helper()
	change := Change{Path: "file", Kind: Changed}
	rule.Glob = "file"
	dir := scratch()
	c := Comparison{Rules: []Rule{rule}, Samples: 10, Scratch: spill.Folder{Dir: dir}, tables: tables, memory: 2 * tables}
	err := c.pair(context.Background(), [2]content{
		{ReaderAt: bytes.NewReader(before), size: int64(len(before))},
		{ReaderAt: bytes.NewReader(after), size: int64(len(after))},
	}, &change)
	if err != nil {
		t.Fatal(err)
	}
	return change
}

// folder lists the files of a directory on disk.
func folder(t testing.TB, dir string) Folder {
	t.Helper()
	f := Folder{Open: func(path string) (*os.File, error) { return os.Open(filepath.Join(dir, path)) }}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		f.Files = append(f.Files, File{Path: entry.Name(), Size: int64(len(text)), Object: manifest.ObjectID(sha256.Sum256(text))})
	}
	return f
}

// scratch is one folder for all comparisons. TestMain looks that it is empty at the end.
var scratch = sync.OnceValue(func() *fsops.Dir {
	name, err := os.MkdirTemp("", "changes")
	if err != nil {
		panic(err)
	}
	dir, err := fsops.OpenDir(name)
	if err != nil {
		panic(err)
	}
	return dir
})

func TestMain(m *testing.M) {
	code := m.Run()
	if names, err := scratch().Names("."); err != nil || len(names) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: the scratch folder holds %v, %v\n", names, err)
		code = 1
	}
	_ = os.RemoveAll(scratch().Path())
	os.Exit(code)
}
