package bucket

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/mirror/record"
)

func id(n byte) manifest.ObjectID { return manifest.ObjectID{0: n, 31: 1} }

var when = time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC)

func sampleRecord() record.Record {
	r := record.Record{Manifest: "dq_addr_data", Release: "2026.10", Source: "https://releases.example.net", Listed: 3, Bytes: 12, Files: []record.File{
		{Path: "ews.txt", Reference: "Data/2026.10/ews.txt", Size: 5, Object: id(1), Metadata: build("7")},
		{Path: "linux/gcc/64bit/lib.so", Reference: "Library/LINUX/GCC/64BIT/2026.10/lib.so", Size: 7, Object: id(2)},
	}}
	var sums []manifest.Sum
	for _, f := range r.Files {
		sums = append(sums, manifest.Sum{Object: f.Object, Path: f.Path})
	}
	r.Revision = manifest.RevisionID(sums)
	return r
}

func sampleGeneration() Generation {
	m := ManifestOf(sampleRecord())
	m.RecordSHA256 = id(5)
	return Generation{Form: form, Number: 8, Previous: 7, Fence: 3, Epoch: 2, Publisher: "host-1", PublishedAt: when, Version: "1.6.0", Manifests: []Manifest{m},
		Destruction: orders("m", destruction.Order{Seconds: 7776000, Gone: []destruction.Gone{{Release: "2026.08", Revision: "0123456789ab", At: when}}}),
	}
}

func sampleCurrent() Current {
	return Current{Form: form, Generation: 8, SHA256: id(9), Fence: 3, Publisher: "host-1", PublishedAt: when}
}

func sampleLease() Lease {
	return Lease{Form: form, Holder: "host-1", Fence: 3, Renewal: 40, Seconds: 60}
}

func build(number string) *manifest.Metadata {
	return &manifest.Metadata{Members: []manifest.Member{{Name: "BuildNumber", Value: number}}}
}

func text(t *testing.T, r record.Record) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteRecord(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextsAreReadAsTheyWereWritten(t *testing.T) {
	record, err := ParseRecord(ManifestOf(sampleRecord()), strings.NewReader(text(t, sampleRecord())))
	check(t, "record", record, sampleRecord(), err)
	generation, err := ParseGeneration(8, sampleGeneration().Text())
	check(t, "generation", generation, sampleGeneration(), err)
	current, err := ParseCurrent(sampleCurrent().Text())
	check(t, "current", current, sampleCurrent(), err)
	lease, err := ParseLease(sampleLease().Text())
	check(t, "lease", lease, sampleLease(), err)
	empty, err := ParseGeneration(1, Generation{Number: 1}.Text())
	check(t, "generation without manifests", empty, Generation{Form: form, Number: 1, Manifests: []Manifest{}}, err)
}

func check(t *testing.T, what string, got, want any, err error) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s: %v %s", what, err, diff)
	}
}

func TestNamesFollowTheLayout(t *testing.T) {
	r := sampleRecord()
	for got, want := range map[string]string{
		ObjectName(id(0xab)):   "objects/ab/" + id(0xab).String(),
		ManifestOf(r).Record(): "records/dq_addr_data/2026.10-" + r.Revision + ".json",
		GenerationName(12):     "generations/12.json",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got, ok := ParseObjectName(ObjectName(id(3))); !ok || got != id(3) {
		t.Errorf("object %s, %v", got, ok)
	}
	if got, ok := ParseGenerationName("generations/12.json"); !ok || got != 12 {
		t.Errorf("generation %d, %v", got, ok)
	}
	for _, foreign := range []string{"", "objects/", "objects/00/" + id(3).String(), "x/" + ObjectName(id(3)), "generations/012.json", "generations/0.json", "generations/-1.json", "generations/1", "1.json", "records/a/b.json"} {
		_, object := ParseObjectName(foreign)
		_, generation := ParseGenerationName(foreign)
		if object || generation {
			t.Errorf("%q is taken for a name of the mirror", foreign)
		}
	}
}

func TestAPrefixKeepsAllNamesBelowIt(t *testing.T) {
	for prefix, good := range map[string]bool{"": true, "mirror/": true, "a/b/": true, "mirror": false, "/": false, "/a/": false, "a//": false, "../": false, "a/./": false, "a\n/": false} {
		if err := CheckPrefix(prefix); (err == nil) != good {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

func TestHarmfulRecordsAreRefused(t *testing.T) {
	rows := map[string]func(*record.Record, *Manifest){
		"another manifest":  func(_ *record.Record, of *Manifest) { of.Name = "other" },
		"another release":   func(_ *record.Record, of *Manifest) { of.Release = "2026.11" },
		"another revision":  func(_ *record.Record, of *Manifest) { of.Revision = "0123456789ab" },
		"fewer files":       func(_ *record.Record, of *Manifest) { of.Files++ },
		"other bytes":       func(_ *record.Record, of *Manifest) { of.Bytes++ },
		"short list":        func(r *record.Record, _ *Manifest) { r.Listed = 1 },
		"long list":         func(r *record.Record, _ *Manifest) { r.Listed = record.MaxFiles + 1 },
		"control in source": func(r *record.Record, _ *Manifest) { r.Source = "https://a\x1b[2J" },
		"path out":          func(r *record.Record, _ *Manifest) { r.Files[0].Path, r.Files[0].Reference = "..", "Data/2026.10/.." },
		"path of another":   func(r *record.Record, _ *Manifest) { r.Files[0].Path = "a.txt" },
		"bad reference":     func(r *record.Record, _ *Manifest) { r.Files[0].Reference = "Data/a/b/c/d" },
		"negative size":     func(r *record.Record, _ *Manifest) { r.Files[0].Size = -1 },
		"other size":        func(r *record.Record, _ *Manifest) { r.Files[0].Size++ },
		"sizes overflow":    func(r *record.Record, _ *Manifest) { r.Files[0].Size, r.Files[1].Size = 1<<62, 1<<62+1<<61 },
		"no object":         func(r *record.Record, _ *Manifest) { r.Files[0].Object = manifest.ObjectID{} },
		"other object":      func(r *record.Record, _ *Manifest) { r.Files[0].Object = id(7) },
		"one size, one sum": func(r *record.Record, _ *Manifest) { r.Files[1].Object = id(1) },
		"not sorted":        func(r *record.Record, _ *Manifest) { r.Files[0], r.Files[1] = r.Files[1], r.Files[0] },
		"twice":             func(r *record.Record, of *Manifest) { r.Files[1] = r.Files[0] },
		"no files":          func(r *record.Record, of *Manifest) { r.Files, of.Files = nil, 0 },
		"huge metadata": func(r *record.Record, _ *Manifest) {
			r.Files[0].Metadata = build(strings.Repeat("x", 3*record.MaxMember))
		},
		"huge member":        func(r *record.Record, _ *Manifest) { r.Source = strings.Repeat("x", 3*record.MaxMember) },
		"manifest with path": func(r *record.Record, of *Manifest) { r.Manifest, of.Name = "../a", "../a" },
	}
	for name, spoil := range rows {
		r := sampleRecord()
		of := ManifestOf(r)
		spoil(&r, &of)
		if got, err := ParseRecord(of, strings.NewReader(text(t, r))); err == nil || got.Files != nil || len(err.Error()) > 1000 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// The bytes of a text are hostile, too.
func TestTextsOfAnotherFormAreRefused(t *testing.T) {
	good := text(t, sampleRecord())
	of := ManifestOf(sampleRecord())
	for name, bad := range map[string]string{
		"empty":          "",
		"null":           "null",
		"list":           "[]",
		"cut":            good[:len(good)-4],
		"more":           good + "{}",
		"later form":     strings.Replace(good, `"syncd_bucket": 1`, `"syncd_bucket": 2`, 1),
		"two lists":      strings.Replace(good, `"files": [`, `"files": [], "files": [`, 1),
		"list is null":   strings.Replace(good, `"files": [`, `"files": null, "x": [`, 1),
		"too many names": strings.Replace(good, "{", "{"+manyMembers(), 1),
	} {
		if got, err := ParseRecord(of, strings.NewReader(bad)); err == nil || got.Files != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func manyMembers() string {
	var b strings.Builder
	for i := range record.MaxMembers + 1 {
		fmt.Fprintf(&b, `"m%d":1,`, i)
	}
	return b.String()
}

// Texts of publishers before 0.2.0 have no epoch, and no digest of the record.
func TestTextsWithoutEpochAndDigestAreRead(t *testing.T) {
	g := sampleGeneration()
	g.Epoch, g.Manifests[0].RecordSHA256 = 0, manifest.ObjectID{}
	if text := string(g.Text()); strings.Contains(text, "epoch") || strings.Contains(text, "sha256") {
		t.Error(text)
	}
	got, err := ParseGeneration(8, g.Text())
	check(t, "generation", got, g, err)
	record, err := ReadRecord(got.Manifests[0], strings.NewReader(text(t, sampleRecord())))
	check(t, "record", record, sampleRecord(), err)
}

func TestOnlyTheRecordThatAGenerationNamesIsRead(t *testing.T) {
	good := text(t, sampleRecord())
	of := ManifestOf(sampleRecord())
	of.RecordSHA256 = sha256.Sum256([]byte(good))
	record, err := ReadRecord(of, strings.NewReader(good))
	check(t, "record", record, sampleRecord(), err)
	for name, other := range map[string]string{
		"other metadata": strings.Replace(good, `"7"`, `"8"`, 1), "space at the end": good + " ", "cut": good[:len(good)-9], "empty": "",
	} {
		var wrong *OtherRecordError
		if got, err := ReadRecord(of, strings.NewReader(other)); !errors.As(err, &wrong) || got.Files != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func orders(name string, o destruction.Order) map[string]destruction.Order {
	return map[string]destruction.Order{name: o}
}

// What a generation names is not destroyed, whatever it says beside that.
func TestWhatAGenerationNamesIsNotDestroyed(t *testing.T) {
	g := sampleGeneration()
	named := g.Manifests[0]
	g.Destruction = orders(named.Name, destruction.Order{Gone: []destruction.Gone{{Release: named.Release}}})
	earlier, other := named, named
	earlier.Revision, other.Name = "ffffffffffff", "other"
	if g.IsDestroyed(named) || !g.IsDestroyed(earlier) || g.IsDestroyed(other) {
		t.Errorf("named %v, earlier %v, of another manifest %v", g.IsDestroyed(named), g.IsDestroyed(earlier), g.IsDestroyed(other))
	}
}

// A later version may add members.
func TestUnknownMembersAreIgnored(t *testing.T) {
	later := strings.Replace(text(t, sampleRecord()), `"listed"`, `"later": {"a": []}, "listed"`, 1)
	if _, err := ParseRecord(ManifestOf(sampleRecord()), strings.NewReader(later)); err != nil {
		t.Error(err)
	}
	later = strings.Replace(string(sampleCurrent().Text()), `"fence"`, `"later": {"a": []}, "fence"`, 1)
	if _, err := ParseCurrent([]byte(later)); err != nil {
		t.Error(err)
	}
}

// yearWithoutForm has a form in JSON, and none in UTC.
var yearWithoutForm = time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -12*3600))

func TestHarmfulSmallTextsAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Current){
		"no generation":      func(c *Current) { c.Generation = 0 },
		"last generation":    func(c *Current) { c.Generation = math.MaxInt32 },
		"no sum":             func(c *Current) { c.SHA256 = manifest.ObjectID{} },
		"negative fence":     func(c *Current) { c.Fence = -1 },
		"negative epoch":     func(c *Current) { c.Epoch = -1 },
		"last epoch":         func(c *Current) { c.Epoch = math.MaxInt64 },
		"year 10000":         func(c *Current) { c.PublishedAt = yearWithoutForm },
		"escape in name":     func(c *Current) { c.Publisher = "a\x1b[2J" },
		"two lines in name":  func(c *Current) { c.Publisher = "a\nb" },
		"endless name":       func(c *Current) { c.Publisher = strings.Repeat("a", maxLine+1) },
		"endless everything": func(c *Current) { c.Publisher = strings.Repeat("a", MaxText) },
	} {
		c := sampleCurrent()
		spoil(&c)
		if got, err := ParseCurrent(c.Text()); err == nil || got != (Current{}) {
			t.Errorf("current with %s: %v", name, err)
		}
	}
	for name, spoil := range map[string]func(*Generation){
		"another number":  func(g *Generation) { g.Number = 9 },
		"own predecessor": func(g *Generation) { g.Previous = 8 },
		"bad predecessor": func(g *Generation) { g.Previous = -1 },
		"negative time":   func(g *Generation) { g.Destruction = orders("m", destruction.Order{Seconds: -1}) },
		"huge time":       func(g *Generation) { g.Destruction = orders("m", destruction.Order{Seconds: math.MaxInt64}) },
		"order for path":  func(g *Generation) { g.Destruction = orders("a/../b", destruction.Order{Seconds: 1}) },
		"order by escape": func(g *Generation) { g.Destruction = orders("m", destruction.Order{Seconds: 1, Publisher: "a\x1b[2J"}) },
		"gone latest": func(g *Generation) {
			g.Destruction = orders("m", destruction.Order{Gone: []destruction.Gone{{Release: "latest"}}})
		},
		"flood of orders": func(g *Generation) {
			g.Destruction = orders("m", destruction.Order{Gone: make([]destruction.Gone, destruction.MaxGone+1)})
		},
		"negative fence": func(g *Generation) { g.Fence = -1 },
		"last epoch":     func(g *Generation) { g.Epoch = math.MaxInt64 },
		"name twice":     func(g *Generation) { g.Manifests = append(g.Manifests, g.Manifests[0]) },
		"path as name":   func(g *Generation) { g.Manifests[0].Name = "a/../b" },
		"no release":     func(g *Generation) { g.Manifests[0].Release = "" },
		"other spelling": func(g *Generation) { g.Manifests[0].Release = "2026-10" },
		"bad revision":   func(g *Generation) { g.Manifests[0].Revision = "0123456789AB" },
		"no files":       func(g *Generation) { g.Manifests[0].Files = 0 },
		"negative bytes": func(g *Generation) { g.Manifests[0].Bytes = -1 },
		"year 10000":     func(g *Generation) { g.PublishedAt = yearWithoutForm },
		"mirrored late":  func(g *Generation) { g.Manifests[0].MirroredAt = yearWithoutForm },
		"version":        func(g *Generation) { g.Version = "\u202e" },
	} {
		g := sampleGeneration()
		spoil(&g)
		if got, err := ParseGeneration(8, g.Text()); err == nil || got.Manifests != nil {
			t.Errorf("generation with %s: %v", name, err)
		}
	}
	for name, spoil := range map[string]func(*Lease){
		"no fence":         func(l *Lease) { l.Fence = 0 },
		"negative renewal": func(l *Lease) { l.Renewal = -1 },
		"no length":        func(l *Lease) { l.Seconds = 0 },
		"endless":          func(l *Lease) { l.Seconds = maxLease + 1 },
		"escape in holder": func(l *Lease) { l.Holder = "\x1b" },
	} {
		l := sampleLease()
		spoil(&l)
		if got, err := ParseLease(l.Text()); err == nil || got != (Lease{}) {
			t.Errorf("lease with %s: %v", name, err)
		}
	}
}

// endless is a record whose first member never ends.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	copy(p, strings.Repeat("a", len(p)))
	if e.read == 0 {
		copy(p, `{"source": "`)
	}
	e.read += len(p)
	return len(p), nil
}

func TestAnEndlessRecordIsNotReadToItsEnd(t *testing.T) {
	var from endless
	_, err := ParseRecord(ManifestOf(sampleRecord()), &from)
	if err == nil || from.read > 8*record.MaxMember {
		t.Errorf("%d bytes were read: %v", from.read, err)
	}
}

func TestARecordOfManyFilesIsReadWhole(t *testing.T) {
	r := record.Record{Manifest: "m", Release: "2026.10", Listed: 3000}
	var sums []manifest.Sum
	for i := range 3000 {
		name := fmt.Sprintf("file-%06d-%s", i, strings.Repeat("x", 150))
		f := record.File{Path: name, Reference: manifest.Parts{Class: manifest.Data, Release: "2026.10", Name: name}.Reference(), Size: 1, Object: manifest.ObjectID{0: byte(i), 1: byte(i >> 8), 2: 1}}
		r.Files, r.Bytes = append(r.Files, f), r.Bytes+1
		sums = append(sums, manifest.Sum{Object: f.Object, Path: f.Path})
	}
	r.Revision = manifest.RevisionID(sums)
	got, err := ParseRecord(ManifestOf(r), io.LimitReader(strings.NewReader(text(t, r)), record.MaxText))
	check(t, "record", got, r, err)
}

// A reader plans its memory by the number of files.
func TestARecordOfFewFilesIsNoLongText(t *testing.T) {
	r := record.Record{Manifest: "m", Release: "2026.10", Listed: 200}
	var sums []manifest.Sum
	for i := range 200 {
		name := fmt.Sprintf("file-%03d", i)
		f := record.File{Path: name, Reference: manifest.Parts{Class: manifest.Data, Release: "2026.10", Name: name}.Reference(), Object: id(byte(i)), Metadata: build(strings.Repeat("x", record.MaxMember-1<<10))}
		r.Files = append(r.Files, f)
		sums = append(sums, manifest.Sum{Object: f.Object, Path: f.Path})
	}
	r.Revision = manifest.RevisionID(sums)
	if _, err := ParseRecord(ManifestOf(r), strings.NewReader(text(t, r))); err == nil || !strings.Contains(err.Error(), "in all") {
		t.Errorf("12 MiB for 200 files: %v", err)
	}
}

// endlessFiles gives one file of a record after another.
type endlessFiles struct{ given int }

func (e *endlessFiles) Read(p []byte) (int, error) {
	text := fmt.Sprintf(`{"path":"a%d","size":1,"sha256":"%064d"},`, e.given, 1)
	if e.given == 0 {
		text = `{"files":[` + text
	}
	n := copy(p, text)
	e.given += n
	return n, nil
}

func TestRecordWithMoreFilesThanItsGenerationSaysIsNotReadToItsEnd(t *testing.T) {
	text := &endlessFiles{}
	_, err := ParseRecord(Manifest{Name: "m", Release: "2026.11", Revision: "0123456789ab", Files: 3, Bytes: 3}, text)
	if err == nil || !strings.Contains(err.Error(), "more than 3 files") || text.given > 1<<20 {
		t.Errorf("%v after %d bytes", err, text.given)
	}
}

// The text in testdata is that of an earlier version.
func TestARecordKeepsItsForm(t *testing.T) {
	golden, err := os.ReadFile("testdata/record.json")
	if err != nil {
		t.Fatal(err)
	}
	of := Manifest{Name: "dq_<addr> & data", Release: "2026.10", Revision: "abd2a355244f", Files: 3, Bytes: 12}
	r, err := ParseRecord(of, bytes.NewReader(golden))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), text(t, r)); diff != "" {
		t.Error(diff)
	}
	if told := r.Files[0].Metadata; told == nil || len(told.Members) != 2 || r.Files[1].Metadata == nil || r.Files[2].Metadata != nil {
		t.Errorf("%+v", r.Files)
	}
}

// Other forms of the provider's metadata are read as none.
func TestMetadataOfAnotherFormIsLeftOut(t *testing.T) {
	odd := strings.Replace(text(t, sampleRecord()), `{"members":[{"name":"BuildNumber","value":"7"}]}`, `"seven"`, 1)
	if r, err := ParseRecord(ManifestOf(sampleRecord()), strings.NewReader(odd)); err != nil || r.Files[0].Metadata != nil {
		t.Errorf("%+v, %v", r.Files, err)
	}
}

// Two bytes of a text of 4 MiB can take a hundred of memory: an empty list of manifests took
// 740 MiB of a follower.
func TestASmallTextTakesLittleMemory(t *testing.T) {
	many := func(member, item string) string {
		begin := `{"syncd_bucket":1,"generation":5,` + member
		return begin + strings.Repeat(item, (MaxText-len(begin)-200)/len(item)) + item[:len(item)-1]
	}
	for name, text := range map[string]string{
		"manifests":      many(`"manifests":[`, `{},`) + `]}`,
		"nulls":          many(`"manifests":[`, `null,`) + `]}`,
		"destroyed":      many(`"destruction":{"a":{"destroyed":[`, `{},`) + `]}}}`,
		"orders":         many(`"destruction":{`, `"a":{},`) + `}}`,
		"another member": many(`"other":[`, `{},`) + `]}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ParseGeneration(5, []byte(text))
		runtime.ReadMemStats(&after)
		isHarmless := name == "orders" || name == "another member"
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 || (err == nil) != isHarmless {
			t.Errorf("%s: %d MiB for a text of %d, %v", name, used>>20, len(text), err)
		}
	}
}
