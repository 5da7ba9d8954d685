package export

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// bench is a source and a folder that follows it.
type bench struct {
	*testing.T
	top    string // holds both
	target Target
	files  map[string]string
	source Source
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := benchAt(t, t.TempDir())
	b.release("1")
	return b
}

// benchAt returns the bench in a directory, without a source.
func benchAt(t *testing.T, top string) *bench {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(top, "data", "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &bench{T: t, top: top, target: Target{
		View: "refdata", Path: filepath.Join(top, "srv", "refdata"), DataDir: filepath.Join(top, "data"), KeepFor: time.Hour,
	}}
}

// anotherLayout has the contents of release 1 at other paths, with hash files.
const anotherLayout = "layout"

func (b *bench) filesOf(text string) map[string]string {
	if text == anotherLayout {
		return map[string]string{"us.dat": "us 1", "us.dat.hash": "0123", "flat/libmd.so": "lib 1", "lib/64bit/readme": "same in all", "flat/empty.dat": ""}
	}
	return map[string]string{"us.dat": "us " + text, "lib/64bit/libmd.so": "lib " + text, "lib/readme": "same in all", "empty.dat": ""}
}

func (b *bench) release(text string) {
	b.Helper()
	b.files = b.filesOf(text)
	dir := filepath.Join(b.top, "source"+text)
	b.source = Source{Fingerprint: text, Generation: b.source.Generation + 1}
	var files []record.TreeFile
	for name, content := range b.files {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			b.must(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o444))
		}
		files = append(files, fileOf(name, content))
	}
	slices.SortFunc(files, func(a, b record.TreeFile) int { return strings.Compare(a.Path, b.Path) })
	b.source.Files = func() []record.TreeFile { return files }
	opened, err := fsops.OpenDir(dir)
	b.must(err)
	b.Cleanup(func() { opened.Close() })
	b.source.Dir = opened
}

func fileOf(name, content string) record.TreeFile {
	return record.TreeFile{Path: name, Size: int64(len(content)), Object: manifest.ObjectID(sha256.Sum256([]byte(content)))}
}

func (b *bench) must(errs ...error) {
	b.Helper()
	if err := errors.Join(errs...); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) follow(o Options) (bool, error) {
	return Follow(b.Context(), &durable.Disk{}, b.target, b.source, o)
}

// exports requires that the folder follows the source now.
func (b *bench) exports(o Options) {
	b.Helper()
	changed, err := b.follow(o)
	if err != nil || !changed {
		b.Fatalf("changed %v, %v", changed, err)
	}
	b.shows()
}

// refuses requires a refusal with these words, and that nothing changes.
func (b *bench) refuses(o Options, words ...string) {
	b.Helper()
	before := listing(b.T, filepath.Dir(b.target.Path))
	_, err := b.follow(o)
	if !IsRefused(err) {
		b.Fatalf("not refused: %v", err)
	}
	for _, word := range append(words, b.target.Path) {
		if !strings.Contains(err.Error(), word) {
			b.Errorf("%v does not contain %q", err, word)
		}
	}
	if after := listing(b.T, filepath.Dir(b.target.Path)); !slices.Equal(before, after) {
		b.Errorf("changed:\n%q\n%q", before, after)
	}
}

// shows requires that the folder is equal to the source, and that no temporary name is left.
func (b *bench) shows() {
	b.Helper()
	b.holds(b.target.Path, b.files)
	mark, err := Look(b.target)
	if err != nil || mark.Fingerprint != b.source.Fingerprint || mark.Generation != b.source.Generation {
		b.Errorf("%+v, %v; want %s of generation %d", mark, err, b.source.Fingerprint, b.source.Generation)
	}
}

func (b *bench) holds(dir string, files map[string]string) {
	b.Helper()
	found := b.contents(dir)
	for name, content := range files {
		if found[name] != content {
			b.Errorf("%s holds %q, want %q", name, found[name], content)
		}
	}
	if len(found) != len(files) {
		b.Errorf("%d files instead of %d: %v", len(found), len(files), found)
	}
}

func (b *bench) contents(dir string) map[string]string {
	b.Helper()
	found := map[string]string{}
	b.must(filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		found[name] = string(data)
		return err
	}))
	return found
}

func listing(t *testing.T, dir string) (names []string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			names = append(names, path)
		}
		return nil
	})
	return names
}

func (b *bench) work() string { return filepath.Join(filepath.Dir(b.target.Path), ".refdata.syncd") }

// kept counts the trees that wait for their end.
func (b *bench) kept() (n int) {
	for _, name := range listing(b.T, b.work()) {
		if filepath.Dir(name) == b.work() && strings.HasPrefix(filepath.Base(name), treePrefix) {
			n++
		}
	}
	return n
}
