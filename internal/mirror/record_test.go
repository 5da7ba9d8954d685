package mirror

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/durable"
)

func FuzzRecord(f *testing.F) {
	m, err := Open(f.TempDir(), &durable.Disk{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		r, err := decodeRecord(name, data)
		if err != nil {
			return
		}
		requireInside(t, m, r)
		if lines := bytes.Count(r.sums(), []byte("\n")); lines != len(r.Files) {
			t.Errorf("%d files in %d lines of sums", len(r.Files), lines)
		}
		r.Fingerprint()
		text, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeRecord(name, text)
		if err != nil {
			t.Fatalf("what it writes it cannot read: %v", err)
		}
		if second, err := again.encode(); err != nil || !bytes.Equal(text, second) {
			t.Errorf("%s became %s, %v", text, second, err)
		}
	})
}

// requireInside requires that every path which is made of a record leads to its
// own place in the data directory.
func requireInside(t *testing.T, m *Mirror, r Record) {
	t.Helper()
	revision := m.revisionDir(r)
	if filepath.Dir(revision) != m.path("revisions", r.Manifest) || filepath.Dir(filepath.Dir(revision)) != m.path("revisions") {
		t.Errorf("revision %q", revision)
	}
	if linked := m.path("generations", generationName(1), r.link()); linked != revision {
		t.Errorf("the link leads to %q", linked)
	}
	if kept := m.recordDir(r.Manifest); filepath.Dir(kept) != m.path("state", "records") {
		t.Errorf("record in %q", kept)
	}
	for _, file := range r.Files {
		if path := filepath.Join(revision, file.Path); !strings.HasPrefix(path, revision+"/") || path != revision+"/"+file.Path {
			t.Errorf("file %q", path)
		}
		if object := m.ObjectPath(file.SHA256); filepath.Dir(filepath.Dir(object)) != m.path("objects") {
			t.Errorf("object %q", object)
		}
	}
}
