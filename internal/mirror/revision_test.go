package mirror

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// spoilt are the ways in which a revision's directory can differ from its record.
func spoilt() map[string]func(dir string) error {
	return map[string]func(dir string) error{
		"a file is missing":  func(dir string) error { return os.Remove(filepath.Join(dir, "x")) },
		"a file too many":    func(dir string) error { return os.WriteFile(filepath.Join(dir, "z"), nil, 0o444) },
		"other bytes":        func(dir string) error { return rewrite(filepath.Join(dir, "x"), "!") },
		"an empty file":      func(dir string) error { return rewrite(filepath.Join(dir, "sub", "y"), "") },
		"another name":       func(dir string) error { return os.Rename(filepath.Join(dir, "x"), filepath.Join(dir, "y")) },
		"a folder, no files": func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)) },
		"a file, no folder":  func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o444)) },
	}
}

// rewrite replaces a file and leaves its object alone.
func rewrite(path, text string) error {
	return errors.Join(os.Remove(path), os.WriteFile(path, []byte(text), 0o444))
}

func TestARevisionThatNoGenerationShowsIsBuiltAnewWhenItIsWrong(t *testing.T) {
	for name, spoil := range spoilt() {
		t.Run(name, func(t *testing.T) {
			m := newMirror(t)
			mustPublish(t, m, recordOf(t, m, "a", "2026.09", files{"x": "1"}))
			next := recordOf(t, m, "a", "2026.10", files{"x": "2", "sub/y": "y"})
			must(t, errors.Join(m.Trees.build(treeOfRevision(next)), spoil(m.revisionPath(next))))
			mustPublish(t, m, next)
			if left := below(t, m, "revisions/a/.tmp-*"); len(left) != 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

func TestARevisionOfADamagedGenerationIsBuiltAnew(t *testing.T) {
	m := newMirror(t)
	record := recordOf(t, m, "a", "2026.09", files{"x": "1"})
	mustPublish(t, m, record)
	must(t, os.Remove(filepath.Join(m.revisionPath(record), "x")))
	replace(t, m.path("current", "a.json"), "{")
	m = recovered(t, m.dir)
	if _, err := m.Publish(context.Background(), Change{Set: []Record{record}}); err != nil {
		t.Fatal(err)
	}
	checkGeneration(t, m, 2)
}

func TestADamagedRevisionThatIsServedIsNotRebuilt(t *testing.T) {
	for name, spoil := range spoilt() {
		t.Run(name, func(t *testing.T) {
			m := newMirror(t)
			first := recordOf(t, m, "a", "2026.09", files{"x": "1", "sub/y": "y"})
			mustPublish(t, m, first)
			mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "2"}))
			must(t, spoil(m.revisionPath(first)))
			before := listing(t, m.revisionPath(first))
			_, err := m.Publish(context.Background(), Change{Set: []Record{first}})
			if broken, ok := errors.AsType[*BuildError](err); !ok || broken.Manifest != "a" {
				t.Errorf("got %v, want a BuildError of manifest a", err)
			}
			if after := listing(t, m.revisionPath(first)); strings.Join(before, "\n") != strings.Join(after, "\n") {
				t.Errorf("it was touched:\n%s", strings.Join(after, "\n"))
			}
		})
	}
}
