package mirror

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/disk/durable"
	"syncd/internal/manifest"
)

func FuzzRecord(f *testing.F) {
	m, err := Open(f.TempDir(), &durable.Disk{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		r, err := decodeRecord(name, bytes.NewReader(data))
		if err != nil {
			return
		}
		requireInside(t, m, r)
		if lines := bytes.Count(written(t, r.writeSums), []byte("\n")); lines != len(r.Files) {
			t.Errorf("%d files in %d lines of sums", len(r.Files), lines)
		}
		r.Fingerprint()
		text := written(t, r.write)
		again, err := decodeRecord(name, bytes.NewReader(text))
		if err != nil {
			t.Fatalf("a written record cannot be read: %v", err)
		}
		if second := written(t, again.write); !bytes.Equal(text, second) {
			t.Errorf("%s became %s", text, second)
		}
	})
}

// requireInside requires that every path made from a record stays in its own place in
// the data directory.
func requireInside(t *testing.T, m *Mirror, r Record) {
	t.Helper()
	revision := m.revisionPath(r)
	if filepath.Dir(revision) != m.path("revisions", r.Manifest) || filepath.Dir(filepath.Dir(revision)) != m.path("revisions") {
		t.Errorf("revision %q", revision)
	}
	if linked := m.path("generations", generationName(1), r.link()); linked != revision {
		t.Errorf("the link leads to %q", linked)
	}
	if kept := m.path(recordDir(r.Manifest)); filepath.Dir(kept) != m.path("state", "records") {
		t.Errorf("record in %q", kept)
	}
	for _, file := range r.Files {
		if path := filepath.Join(revision, file.Path); !strings.HasPrefix(path, revision+"/") || path != revision+"/"+file.Path {
			t.Errorf("file %q", path)
		}
		if object := m.objectPath(file.Object); filepath.Dir(filepath.Dir(object)) != m.path("objects") {
			t.Errorf("object %q", object)
		}
	}
}

// written returns the bytes that a function writes.
func written(t *testing.T, write func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestARecordIsWrittenAsJSONWritesIt(t *testing.T) {
	record := Record{Manifest: "m", Release: "2026.10", Files: []File{
		{Path: `a"b<é>`, Reference: "Data/2026.10/x", Size: 1 << 40, Object: manifest.ObjectID{0xab}, Expected: manifest.Digest{Algorithm: manifest.MD5, Sum: [32]byte{0xcd}}}, {Path: "c"},
		{Path: "back\\slash & <tag>", Reference: "Data/2026.10/\x01\u2028", Expected: manifest.Digest{Algorithm: manifest.SHA256}},
		{Path: "told", Slash: true, Position: 7, Metadata: &manifest.Metadata{
			MD5: manifest.Digest{Algorithm: manifest.MD5}, SHA1: manifest.Digest{Algorithm: manifest.SHA1},
			Members: []manifest.Member{{Name: "BuildDate", Value: "2026-10"}, {Name: "Odd", Value: `<"é">`}},
		}},
		{Path: "told nothing", Metadata: &manifest.Metadata{}},
		{Path: "one", Metadata: &manifest.Metadata{Members: []manifest.Member{{Name: "BuildNumber", Value: "7"}}}},
	}, Held: &Hold{Release: "2026.11"}, Described: true, Description: "d", Aliases: []manifest.Release{"2026.Q4"}}
	for range 7 {
		want, err := json.MarshalIndent(record, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want)+"\n", string(written(t, record.write))); diff != "" {
			t.Errorf("%d files:\n%s", len(record.Files), diff)
		}
		record.Files = record.Files[:max(0, len(record.Files)-1)]
	}
}

func TestAServedRecordIsReadAgainOnlyWhenItsFileChanged(t *testing.T) {
	m := newMirror(t)
	mustPublish(t, m, recordOf(t, m, "a", "2026.10", files{"x": "1"}))
	path := m.path("generations", generationName(1), "a"+recordSuffix)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, path, strings.Repeat("x", len(good)))
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.readGeneration(1); err != nil {
		t.Errorf("it was read: %v", err)
	}
	if err := os.Chtimes(path, time.Time{}, info.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.readGeneration(1); !errors.Is(err, errDamaged) {
		t.Errorf("damage is not seen: %v", err)
	}
}

func TestARecordOfAnyFormOfJSONIsRead(t *testing.T) {
	const file = `{"path":"x","reference":"Data/2026.10/x","size":1,"sha256":"` + sixtyFour + `","promised":"sha256:` + sixtyFour + `"}`
	for text, want := range map[string]int{
		`{"manifest":"m","release":"2026.10","revision":"r","files":[` + file + `]}`:                             1,
		`{"files":[` + file + `],"unknown":{"a":[1]},"manifest":"m","release":"2026.10","revision":"r"}`:         1,
		`{"manifest":"m","release":"2026.10","revision":"r","files":null}`:                                       0,
		`{"manifest":"m","release":"2026.10","revision":"r"} `:                                                   0,
		`{"manifest":"m","release":"2026.10","revision":"r"} {}`:                                                 -1,
		`{"manifest":"m","release":"2026.10","revision":"r","files":[` + file + `]`:                              -1,
		`{"manifest":"m","release":"2026.10","revision":"r","files":{}}`:                                         -1,
		`{"manifest":"m","release":"2026.10","revision":"r","files":[1]}`:                                        -1,
		`{"manifest":"m","release":"2026.10","revision":"r","files":[{"path":"x","sha256":"../../etc/passwd"}]}`: -1,
		`{"manifest":"m","release":"2026.10","revision":"r","files":[{"path":"x","size":1}]}`:                    -1,
		`{"manifest":1,"release":"2026.10","revision":"r"}`:                                                      -1,
		`[]`: -1, ``: -1, `null`: -1,
	} {
		record, err := decodeRecord("m", strings.NewReader(text))
		if (err != nil) != (want < 0) || err == nil && len(record.Files) != want {
			t.Errorf("%s: %d files, %v", text, len(record.Files), err)
		}
	}
}

const sixtyFour = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestAnExpectedDigestOfAnUnknownAlgorithmIsReadAsUnknown(t *testing.T) {
	const text = `{"manifest":"m","release":"2026.10","revision":"r","files":[{"path":"x","sha256":"` + sixtyFour + `","promised":"sha512:00"}]}`
	record, err := decodeRecord("m", strings.NewReader(text))
	if err != nil || !record.Files[0].Expected.IsZero() {
		t.Errorf("got %+v, %v, want an expected digest of zero", record, err)
	}
}

func TestARecordKeepsItsFormOnDisk(t *testing.T) {
	const text = `{
 "manifest": "m",
 "source": "https://releases.example.net",
 "release": "2026.10",
 "revision": "r",
 "listed": 1,
 "bytes": 1,
 "mirrored_at": "2026-10-02T03:04:05Z",
 "published_at": "2026-10-02T03:04:05Z",
 "version": "1",
 "files": [
  {
   "path": "x",
   "reference": "Data/2026.10/x",
   "size": 1,
   "sha256": "` + sixtyFour + `",
   "promised": "md5:d41d8cd98f00b204e9800998ecf8427e"
  }
 ]
}
`
	record, err := decodeRecord("m", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(written(t, record.write))); diff != "" {
		t.Error(diff)
	}
}
