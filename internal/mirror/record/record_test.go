package record

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/manifest"
)

func FuzzRecord(f *testing.F) {
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		r, err := Parse(name, bytes.NewReader(data))
		if err != nil {
			return
		}
		requireInside(t, r)
		if lines := bytes.Count(written(t, r.WriteSums), []byte("\n")); lines != len(r.Files) {
			t.Errorf("%d files in %d lines of sums", len(r.Files), lines)
		}
		r.Fingerprint()
		text := written(t, r.Write)
		again, err := Parse(name, bytes.NewReader(text))
		if err != nil {
			t.Fatalf("a written record cannot be read: %v", err)
		}
		if second := written(t, again.Write); !bytes.Equal(text, second) {
			t.Errorf("%s became %s", text, second)
		}
	})
}

// requireInside requires that every path made from a record stays in its own place in
// the data directory.
func requireInside(t *testing.T, r Record) {
	t.Helper()
	if filepath.Dir(r.Key()) != r.Manifest || filepath.Dir(r.Manifest) != "." || filepath.Join("revisions", r.Key()) != r.Dir() {
		t.Errorf("revision %q", r.Dir())
	}
	if linked := filepath.Join("generations/000001", r.Link()); linked != r.Dir() {
		t.Errorf("the link leads to %q", linked)
	}
	for _, file := range r.Files {
		if path := filepath.Join(r.Dir(), file.Path); !strings.HasPrefix(path, r.Dir()+"/") || path != r.Dir()+"/"+file.Path {
			t.Errorf("file %q", path)
		}
	}
}

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
		if diff := cmp.Diff(string(want)+"\n", string(written(t, record.Write))); diff != "" {
			t.Errorf("%d files:\n%s", len(record.Files), diff)
		}
		record.Files = record.Files[:max(0, len(record.Files)-1)]
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
		record, err := Parse("m", strings.NewReader(text))
		if (err != nil) != (want < 0) || err == nil && len(record.Files) != want {
			t.Errorf("%s: %d files, %v", text, len(record.Files), err)
		}
	}
}

const sixtyFour = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// A file without a content takes two bytes of a text, and hundreds of memory.
func TestARecordThatFillsTheMemoryIsNotReadToItsEnd(t *testing.T) {
	for name, read := range map[string]func(io.Reader) error{
		"record": func(text io.Reader) error { _, err := Parse("m", text); return err },
		"view":   func(text io.Reader) error { _, err := ParseView("m", text); return err },
	} {
		text := strings.NewReader(`{"files":[` + strings.Repeat("{},", 1<<20) + `{}]}`)
		if err := read(text); err == nil || !strings.Contains(err.Error(), "has no sha256") || text.Len() < 1<<20 {
			t.Errorf("%s: error %v, %d bytes were not read", name, err, text.Len())
		}
	}
}

func TestAnExpectedDigestOfAnUnknownAlgorithmIsReadAsUnknown(t *testing.T) {
	const text = `{"manifest":"m","release":"2026.10","revision":"r","files":[{"path":"x","sha256":"` + sixtyFour + `","promised":"sha512:00"}]}`
	record, err := Parse("m", strings.NewReader(text))
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
	record, err := Parse("m", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(written(t, record.Write))); diff != "" {
		t.Error(diff)
	}
}

// The texts in testdata are those of an earlier version.
func TestTextsKeepTheirForm(t *testing.T) {
	r, err := Parse("dq_<addr> & data", bytes.NewReader(golden(t, "disk.json")))
	if err != nil {
		t.Fatal(err)
	}
	v, err := ParseView("v<1>", bytes.NewReader(golden(t, "view.json")))
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(io.Writer) error{"disk.json": r.Write, "SHA256SUMS": r.WriteSums, "view.json": v.Write} {
		if diff := cmp.Diff(string(golden(t, name)), string(written(t, write))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	id := func(n byte) manifest.ObjectID { return manifest.ObjectID{0: n, 31: 1} }
	want := File{
		Path: "a\"b<é>&\u2028.txt", Reference: "Data/2026.10/a\"b<é>&\u2028.txt?tag=NET7", Size: 5, Object: id(1), Expected: manifest.Digest{Algorithm: manifest.MD5, Sum: [32]byte{0xcd}}, Slash: true, Position: 3,
		Metadata: &manifest.Metadata{
			MD5: manifest.Digest{Algorithm: manifest.MD5}, SHA1: manifest.Digest{Algorithm: manifest.SHA1},
			Members: []manifest.Member{{Name: "BuildDate", Value: "2026-10"}, {Name: "Odd", Value: `<"é">`}},
		},
	}
	if diff := cmp.Diff(want, r.Files[0]); diff != "" || r.Held == nil || r.Orders.Pin != "2026.09" || !r.PublishedAt.Equal(time.Date(2026, 11, 2, 3, 4, 5, 6000, time.UTC)) {
		t.Errorf("%+v %s", r, diff)
	}
}

func golden(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A record of another host has at most 2 KiB for each file, and 64 MiB.
func TestARecordOfAnotherHostIsBounded(t *testing.T) {
	for files, want := range map[int]int64{1: 4<<20 + 2<<10, 1000: 4<<20 + 1000*2<<10, 250_000: 64 << 20, 1 << 40: 64 << 20} {
		if got := Limit(files); got != want {
			t.Errorf("%d files: %d bytes, want %d", files, got, want)
		}
	}
}
