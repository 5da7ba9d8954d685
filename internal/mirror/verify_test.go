package mirror

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"syncd/internal/verify"
)

// replace puts a new file in a file's place, as a careless operator does.
func replace(t *testing.T, path, text string) {
	t.Helper()
	must(t, errors.Join(os.Remove(path), os.WriteFile(path, []byte(text), 0o444)))
}

// overwrite changes a file's bytes in place, and with them those of all its links.
func overwrite(t *testing.T, path, text string) {
	t.Helper()
	must(t, errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, []byte(text), 0), os.Chmod(path, 0o444)))
}

func TestVerifyNamesEachDamagedFile(t *testing.T) {
	m := newMirror(t)
	mustPublish(t, m,
		recordOf(t, m, "a", "2026.10", files{"flipped": "0123456789", "sub/truncated": "abcdefghij", "missing": "gone", "replaced": "mine", "folder": "was a file", "whole": "ok", "empty": ""}),
		recordOf(t, m, "b", "2026.10", files{"whole": "ok", "shared": "0123456789"}),
	)
	both := []string{"a", "b"}
	checked, err := m.Verify(context.Background(), both, 0)
	if err != nil || checked.Files != 9 || checked.Bytes != 52 || len(checked.Damage) > 0 {
		t.Fatalf("verify of whole files: %+v, %v", checked, err)
	}
	overwrite(t, m.path("current/a/flipped"), "0123456780") // also b's, which is the same object
	overwrite(t, m.path("current/a/sub/truncated"), "abcdefghi")
	replace(t, m.path("current/a/replaced"), "your")
	must(t, errors.Join(os.Remove(m.path("current/a/missing")), os.Remove(m.path("current/a/folder")), os.Mkdir(m.path("current/a/folder"), 0o755)))
	checked, err = m.Verify(context.Background(), both, 0)
	must(t, err)
	var got []string
	for _, d := range checked.Damage {
		kind := "unreadable"
		if mismatch, ok := errors.AsType[*verify.Mismatch](d.Err); ok && mismatch.Expected == d.File.Object.Digest() {
			kind = "mismatch"
		} else if errors.Is(d.Err, fs.ErrNotExist) {
			kind = "missing"
		}
		got = append(got, d.Manifest+"/"+d.File.Path+" "+kind)
	}
	want := []string{"a/flipped mismatch", "a/folder unreadable", "a/missing missing", "a/replaced mismatch", "a/sub/truncated mismatch", "b/shared mismatch"}
	same(t, want, got)
	if checked.Files != 9 {
		t.Errorf("%d files", checked.Files)
	}
	if checked, err := m.Verify(context.Background(), []string{"b"}, 0); err != nil || checked.Files != 2 || len(checked.Damage) != 1 {
		t.Errorf("b alone: %+v, %v", checked, err)
	}
}

func TestVerifyEndsWithItsContext(t *testing.T) {
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "1", "y": "2"}))
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stop)
	if checked, err := m.Verify(ctx, []string{"a"}, 0); !errors.Is(err, stop) || len(checked.Damage) != 0 {
		t.Errorf("verify under an ended context: got %+v, %v", checked, err)
	}
}

func TestRelinkMendsEveryRevisionThatHasTheFile(t *testing.T) {
	m := newMirror(t)
	records := []Record{
		recordOf(t, m, "a", "2026.09", files{"x": "shared", "old": "o"}),
		recordOf(t, m, "a", "2026.10", files{"x": "shared", "sub/copy": "shared", "new": "n"}),
		recordOf(t, m, "b", "2026.10", files{"deep/er/y": "shared"}),
	}
	for _, record := range records {
		mustPublish(t, m, record)
	}
	sum := sumOf("shared")
	overwrite(t, m.path("current/a/x"), "SHARED") // all links and the object
	if m.Objects.IsWhole(context.Background(), sum) {
		t.Fatal("the damaged object is proven")
	}
	must(t, os.RemoveAll(m.path("current/b/deep")))
	replace(t, m.path("current/a/sub/copy"), "something else")
	adopt(t, m, "shared")
	for range 2 { // a second time finds links to the object already
		must(t, m.Relink(sum))
		checkWhole(t, m)
	}
	object, _ := os.Stat(m.objectPath(sum))
	for _, path := range []string{
		filepath.Join(m.revisionPath(records[0]), "x"), filepath.Join(m.revisionPath(records[1]), "x"),
		filepath.Join(m.revisionPath(records[1]), "sub/copy"), filepath.Join(m.revisionPath(records[2]), "deep/er/y"),
	} {
		if info, err := os.Stat(path); err != nil || !os.SameFile(info, object) {
			t.Errorf("%s is not the object: %v", path, err)
		}
	}
	if temps := below(t, m, "revisions/*/.tmp-*"); len(temps) != 0 {
		t.Errorf("left: %q", temps)
	}
}

func TestRelinkWithoutTheObjectChangesNothing(t *testing.T) {
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "1"}))
	must(t, os.Remove(m.objectPath(sumOf("1"))))
	if err := m.Relink(sumOf("1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
	checkWhole(t, m)
	if temps := below(t, m, "revisions/*/.tmp-*"); len(temps) != 0 {
		t.Errorf("left: %q", temps)
	}
}
