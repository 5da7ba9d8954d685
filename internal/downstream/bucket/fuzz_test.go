package bucket

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"syncd/internal/manifest"
)

func FuzzParseCurrent(f *testing.F) {
	f.Add(sampleCurrent().Text())
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseCurrent(data)
		if err != nil {
			if c != (Current{}) {
				t.Fatalf("%+v with error %v", c, err)
			}
			return
		}
		if again, err := ParseCurrent(c.Text()); err != nil || !again.PublishedAt.Equal(c.PublishedAt) || again.Generation != c.Generation || again.SHA256 != c.SHA256 {
			t.Fatalf("written again: %+v, %v", again, err)
		}
	})
}

func FuzzParseLease(f *testing.F) {
	f.Add(sampleLease().Text())
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLease(data)
		if err != nil {
			if l != (Lease{}) {
				t.Fatalf("%+v with error %v", l, err)
			}
			return
		}
		if again, err := ParseLease(l.Text()); err != nil || again != l {
			t.Fatalf("written again: %+v, %v", again, err)
		}
	})
}

func FuzzParseGeneration(f *testing.F) {
	f.Add(sampleGeneration().Text())
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := ParseGeneration(8, data)
		if err != nil {
			if g.Manifests != nil {
				t.Fatalf("%+v with error %v", g, err)
			}
			return
		}
		for _, m := range g.Manifests {
			plain(t, m.Record())
		}
		if _, err := ParseGeneration(8, g.Text()); err != nil {
			t.Fatalf("written again: %v", err)
		}
	})
}

func FuzzParseRecord(f *testing.F) {
	var good bytes.Buffer
	if err := WriteRecord(&good, sampleRecord()); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		of := ManifestOf(sampleRecord())
		r, err := ParseRecord(of, bytes.NewReader(data))
		if err != nil {
			if r.Files != nil {
				t.Fatalf("%+v with error %v", r, err)
			}
			return
		}
		for _, file := range r.Files {
			plain(t, file.Path)
		}
		var again bytes.Buffer
		if err := WriteRecord(&again, r); err != nil {
			t.Fatal(err)
		}
		if _, err := ParseRecord(of, &again); err != nil {
			t.Fatalf("written again: %v", err)
		}
	})
}

func FuzzParsePatchList(f *testing.F) {
	f.Add(PatchList{Patches: []Patch{{Old: Empty, New: id(1), Size: 5}, {Old: id(1), New: id(2), Size: 7}}}.Text())
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParsePatchList("list", data)
		if err != nil {
			if l.Patches != nil {
				t.Fatalf("%+v with error %v", l, err)
			}
			return
		}
		for _, p := range l.Patches {
			plain(t, p.Name())
		}
		if again, err := ParsePatchList("list", l.Text()); err != nil || len(again.Patches) != len(l.Patches) {
			t.Fatalf("written again: %v", err)
		}
	})
}

func FuzzParseNames(f *testing.F) {
	f.Fuzz(func(t *testing.T, name string) {
		if id, ok := ParseObjectName(name); ok && (ObjectName(id) != name || id == (manifest.ObjectID{}) && !strings.Contains(name, "0000")) {
			t.Fatalf("%q is object %s", name, id)
		}
		if number, ok := ParseGenerationName(name); ok && GenerationName(number) != name {
			t.Fatalf("%q is generation %d", name, number)
		}
		if before, after, ok := ParsePatchName(name); ok && PatchName(before, after) != name {
			t.Fatalf("%q is a patch from %s to %s", name, before, after)
		}
		if id, ok := ParsePackName(name); ok && PackName(id) != name {
			t.Fatalf("%q is pack %s", name, id)
		}
		if CheckPrefix(name) == nil && name != "" {
			plain(t, strings.TrimSuffix(name, "/"))
		}
	})
}

// plain requires a path that stays where it is.
func plain(t *testing.T, path string) {
	t.Helper()
	if !filepath.IsLocal(path) || filepath.Clean(path) != path || strings.ContainsFunc(path, unicode.IsControl) {
		t.Fatalf("path %q is not plain and local", path)
	}
}
