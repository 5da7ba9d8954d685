package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
)

const atOnce = 50 * time.Millisecond // a timeout for a lock that is never released

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// times returns ci, or full with SYNCD_TORTURE=full.
func times(ci, full int) int {
	if os.Getenv("SYNCD_TORTURE") == "full" {
		return full
	}
	return ci
}

// mustOpen opens a state file and fails the test if it is damaged.
func mustOpen(t *testing.T, path string) *Store {
	t.Helper()
	s, note, err := openAt(t, path, time.Minute)
	if err != nil || note != "" {
		t.Fatalf("note %q, %v", note, err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func folder(t *testing.T, path string) *fsops.Dir {
	t.Helper()
	dir, err := fsops.OpenDir(filepath.Dir(path))
	must(t, err)
	t.Cleanup(func() { dir.Close() })
	return dir
}

func openAt(t *testing.T, path string, timeout time.Duration) (*Store, string, error) {
	t.Helper()
	return Open(folder(t, path), filepath.Base(path), timeout)
}

func openReadOnlyAt(t *testing.T, path string, timeout time.Duration) (*Store, error) {
	t.Helper()
	return OpenReadOnly(folder(t, path), filepath.Base(path), timeout)
}

func newPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "syncd.db")
}

// content is everything that a store holds.
type content struct {
	Manifests map[string]Manifest
	Wanted    map[string][]Planned
	CoolDowns map[string]time.Time
	History   []string
}

func read(t *testing.T, s *Store) content {
	t.Helper()
	c, err := contentOf(s)
	must(t, err)
	return c
}

func contentOf(s *Store) (c content, err error) {
	var errs [4]error
	var history []json.RawMessage
	c.Manifests, errs[0] = s.Manifests()
	c.Wanted, errs[1] = s.Planned()
	c.CoolDowns, errs[2] = s.CoolDowns()
	history, errs[3] = s.History(2 * maxHistory)
	for _, entry := range history {
		c.History = append(c.History, string(entry))
	}
	return c, errors.Join(errs[:]...)
}

// fill writes to each bucket, enough for several pages.
func fill(t *testing.T, s *Store) {
	t.Helper()
	at := time.Date(2026, 10, 5, 3, 0, 0, 0, time.UTC)
	for i := range 60 {
		name := fmt.Sprintf("manifest_%02d", i)
		err := s.Commit(Changes{
			Manifests: map[string]Manifest{name: {CheckedAt: at, FullAt: at, ETag: `"abc"`, Newest: "2026.10", Failure: &Failure{Result: "failed", Error: "x", Count: i}}},
			Planned:   listsOf(map[string][]Planned{name: {{Expected: someMD5, Object: object(i), Size: int64(i)}}}),
			History:   map[string]any{"n": i, "text": strings.Repeat("x", 200)},
		})
		must(t, err)
	}
	for i := range 5 {
		must(t, s.SetCoolDown(fmt.Sprintf("https://%d.example.net", i), time.Now().Add(time.Hour).Round(0)))
	}
	if _, err := s.Jitter(func() float64 { return 0.25 }); err != nil {
		t.Fatal(err)
	}
}

func TestContentSurvivesReopening(t *testing.T) {
	path := newPath(t)
	s := mustOpen(t, path)
	if diff := cmp.Diff(content{Manifests: map[string]Manifest{}, Wanted: map[string][]Planned{}, CoolDowns: map[string]time.Time{}}, read(t, s)); diff != "" {
		t.Errorf("a new store is not empty: %s", diff)
	}
	fill(t, s)
	before := read(t, s)
	if len(before.Manifests) != 60 || len(before.Wanted) != 60 || len(before.CoolDowns) != 5 || len(before.History) != 60 {
		t.Fatalf("%d manifests, %d wanted, %d cool-downs, %d history", len(before.Manifests), len(before.Wanted), len(before.CoolDowns), len(before.History))
	}
	must(t, s.Close())
	same(t, before, read(t, mustOpen(t, path)))
}

func TestStateFileIsPrivate(t *testing.T) {
	path := newPath(t)
	mustOpen(t, path)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", info.Mode(), err)
	}
}

func TestOpeningAGoodFileDoesNotWriteToIt(t *testing.T) {
	path := newPath(t)
	s := mustOpen(t, path)
	fill(t, s)
	s.Close()
	before, _ := os.ReadFile(path)
	mustOpen(t, path).Close()
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file changed, or %v", err)
	}
}

func TestCommitIsAtomic(t *testing.T) {
	s := mustOpen(t, newPath(t))
	fill(t, s)
	before := read(t, s)
	err := s.Commit(Changes{
		Manifests: map[string]Manifest{"manifest_00": {ETag: "new"}},
		Planned:   listsOf(map[string][]Planned{"manifest_00": nil}),
		History:   func() {}, // has no JSON
	})
	if err == nil {
		t.Fatal("no error")
	}
	same(t, before, read(t, s))
}

func TestNilOrEmptyWantedRemovesOnlyThatEntry(t *testing.T) {
	s := mustOpen(t, newPath(t))
	one := []Planned{{Expected: someMD5}}
	commit := func(wanted map[string][]Planned) {
		t.Helper()
		must(t, s.Commit(Changes{Planned: listsOf(wanted)}))
	}
	commit(map[string][]Planned{"a": one, "b": one, "c": one})
	commit(map[string][]Planned{"a": nil, "b": {}, "never there": nil})
	commit(nil)
	got, err := s.Planned()
	must(t, err)
	same(t, map[string][]Planned{"c": one}, got)
}

func TestHistoryIsBoundedAndNewestFirst(t *testing.T) {
	path := newPath(t)
	s := mustOpen(t, path)
	s.db.NoSync = true // a thousand commits without fsync are fast
	for i := range maxHistory + 25 {
		must(t, s.Commit(Changes{History: i}))
	}
	all := read(t, s).History
	if len(all) != maxHistory || all[0] != "1024" || all[len(all)-1] != "25" {
		t.Errorf("%d entries, %s to %s", len(all), all[0], all[len(all)-1])
	}
	for _, limit := range []int{0, 1, 3} {
		if some, err := s.History(limit); err != nil || len(some) != limit || limit > 0 && string(some[0]) != "1024" {
			t.Errorf("limit %d: %s, %v", limit, some, err)
		}
	}
	s.Close()
	s = mustOpen(t, path)
	must(t, s.Commit(Changes{History: "after"}))
	if all := read(t, s).History; len(all) != maxHistory || all[0] != `"after"` || all[1] != "1024" {
		t.Errorf("%d entries, the newest %s %s", len(all), all[0], all[1])
	}
}

func TestHistoryOfLongTextsIsBounded(t *testing.T) {
	s := mustOpen(t, newPath(t))
	s.db.NoSync = true
	long := strings.Repeat("x", maxHistoryBytes/20)
	for i := range 50 {
		must(t, s.Commit(Changes{History: fmt.Sprint(i, long)}))
	}
	all := read(t, s).History
	if len(all) != 19 || !strings.HasPrefix(all[0], `"49`) || !strings.HasPrefix(all[18], `"31`) {
		t.Errorf("%d entries", len(all))
	}
	must(t, s.Commit(Changes{History: strings.Repeat("y", 2*maxHistoryBytes)}))
	if all := read(t, s).History; len(all) != 1 || !strings.HasPrefix(all[0], `"y`) {
		t.Errorf("%d entries beside one that is too large", len(all))
	}
}

func TestHistoryEntriesStayValidAfterClose(t *testing.T) {
	s := mustOpen(t, newPath(t))
	must(t, s.Commit(Changes{History: "first"}))
	entries, err := s.History(1)
	must(t, err)
	fill(t, s)
	s.Close()
	if string(entries[0]) != `"first"` {
		t.Errorf("an entry read before changed to %s", entries[0])
	}
}

func TestJitterIsDrawnOnce(t *testing.T) {
	path := newPath(t)
	draws := 0
	draw := func() float64 { draws++; return 0.75 }
	for range 3 {
		s := mustOpen(t, path)
		if share, err := s.Jitter(draw); share != 0.75 || err != nil {
			t.Errorf("got jitter %v, %v, want 0.75", share, err)
		}
		s.Close()
	}
	if draws != 1 {
		t.Errorf("drawn %d times", draws)
	}
}

func TestCoolDownsAreKeptByOriginAndUnreadableOnesIgnored(t *testing.T) {
	s := mustOpen(t, newPath(t))
	local := time.Now().Add(time.Hour).Round(0).In(time.FixedZone("somewhere", 3600))
	later := local.Add(time.Hour)
	for origin, until := range map[string]time.Time{"https://a.example.net": local, "https://b.example.net": later} {
		must(t, s.SetCoolDown(origin, until))
	}
	must(t, s.SetCoolDown("https://a.example.net", later))
	err := s.db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketOrigins).Put([]byte("https://c.example.net"), []byte("soon"))
	})
	must(t, err)
	want := map[string]time.Time{"https://a.example.net": later, "https://b.example.net": later}
	same(t, want, read(t, s).CoolDowns)
}

func TestOpenReportsALockedFile(t *testing.T) {
	path := newPath(t)
	s := mustOpen(t, path)
	want := path + " is locked: is another syncd running?"
	if _, note, err := openAt(t, path, atOnce); err == nil || err.Error() != want || note != "" {
		t.Errorf("to write: note %q, %v", note, err)
	}
	if _, err := openReadOnlyAt(t, path, atOnce); err == nil || err.Error() != want {
		t.Errorf("to read: %v", err)
	}
	s.Close()
	reader, err := openReadOnlyAt(t, path, atOnce)
	must(t, err)
	defer reader.Close()
	second, err := openReadOnlyAt(t, path, atOnce)
	if err != nil {
		t.Fatalf("two readers: %v", err)
	}
	second.Close()
	if _, _, err := openAt(t, path, atOnce); err == nil || err.Error() != want {
		t.Errorf("write while another process reads: %v", err)
	}
	if leftovers := aside(t, path); len(leftovers) != 0 {
		t.Errorf("a locked file was set aside: %q", leftovers)
	}
}

func TestOpenReadOnlyNeverCreatesOrChangesTheFile(t *testing.T) {
	path := newPath(t)
	if _, err := openReadOnlyAt(t, path, atOnce); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("missing: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file was created: %v", err)
	}
	s := mustOpen(t, path)
	fill(t, s)
	want := read(t, s)
	s.Close()
	before, _ := os.ReadFile(path)
	reader, err := openReadOnlyAt(t, path, atOnce)
	must(t, err)
	defer reader.Close()
	same(t, want, read(t, reader))
	if err := reader.Commit(Changes{History: 1}); err == nil {
		t.Error("a read-only store accepted a change")
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the file changed")
	}
}

func TestOpenReadOnlyReportsDamageAndKeepsTheFile(t *testing.T) {
	for name, data := range map[string][]byte{"empty": {}, "garbage": bytes.Repeat([]byte("x"), 1<<15)} {
		path := newPath(t)
		must(t, os.WriteFile(path, data, 0o600))
		_, err := openReadOnlyAt(t, path, atOnce)
		if damaged, ok := errors.AsType[*DamagedError](err); !ok || damaged.Path != path {
			t.Errorf("%s: got %v, want a DamagedError", name, err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(data, after) {
			t.Errorf("%s: the file changed", name)
		}
	}
}

// aside lists the files that were set aside.
func aside(t *testing.T, path string) []string {
	t.Helper()
	names, err := filepath.Glob(path + ".*-*")
	must(t, err)
	return names
}

// alter changes the file without the store.
func alter(t *testing.T, path string, change func(tx *bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	must(t, err)
	defer db.Close()
	must(t, db.Update(change))
}

func TestUnusableFileIsSetAsideUnchanged(t *testing.T) {
	put := func(bucket, key []byte, value string) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Put(key, []byte(value)) }
	}
	rows := []struct {
		name   string
		change func(tx *bbolt.Tx) error
		says   string
	}{
		{"newer schema", put(bucketMeta, keySchema, string(binary.BigEndian.AppendUint32(nil, schema+1))), "syncd.db is from a newer syncd: its schema version is 2, this syncd knows 1"},
		{"newer schema with other buckets", func(tx *bbolt.Tx) error {
			version := binary.BigEndian.AppendUint32(nil, schema+1)
			return errors.Join(tx.Bucket(bucketMeta).Put(keySchema, version), tx.DeleteBucket(bucketPlanned))
		}, "from a newer syncd"},
		{"schema that never existed", put(bucketMeta, keySchema, "\x00\x00\x00\x00"), "syncd.db is damaged: schema version 0 does not exist"},
		{"schema in another format", put(bucketMeta, keySchema, "1"), "schema version is missing"},
		{"no schema", func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Delete(keySchema) }, "schema version is missing"},
		{"a missing bucket", func(tx *bbolt.Tx) error { return tx.DeleteBucket(bucketPlanned) }, "bucket pending is missing"},
		{"a manifest that is not JSON", put(bucketManifests, []byte("m"), "oops"), "bucket manifests"},
		{"a manifest cut short", put(bucketManifests, []byte("m"), `{"etag":"`), "bucket manifests"},
		{"a manifest of another shape", put(bucketManifests, []byte("m"), `{"checked_at":"yesterday"}`), "bucket manifests"},
		{"wanted contents of another shape", put(bucketPlanned, []byte("m"), `{}`), "bucket pending"},
		{"history that is not JSON", put(bucketHistory, sequenceKey(7), "{"), "bucket history"},
		{"another program's file", func(tx *bbolt.Tx) error {
			for _, name := range requiredBuckets() {
				if err := tx.DeleteBucket(name); err != nil {
					return err
				}
			}
			_, err := tx.CreateBucket([]byte("widgets"))
			return err
		}, "bucket meta is missing"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			path := newPath(t)
			mustOpen(t, path).Close()
			alter(t, path, row.change)
			before, _ := os.ReadFile(path)
			s, note, err := openAt(t, path, time.Minute)
			must(t, err)
			kept := aside(t, path)
			if len(kept) != 1 || !strings.Contains(note, row.says) || !strings.Contains(note, kept[0]) {
				t.Fatalf("kept %q, note %q", kept, note)
			}
			if data, _ := os.ReadFile(kept[0]); !bytes.Equal(data, before) {
				t.Error("the file that was set aside has changed")
			}
			if got := read(t, s); len(got.Manifests)+len(got.Wanted)+len(got.History) != 0 {
				t.Errorf("the new store is not empty: %+v", got)
			}
			s.Close()
			fill(t, mustOpen(t, path))
		})
	}
}

func TestEmptyOrUnfinishedFileOpensWithoutANote(t *testing.T) {
	empty, blank := newPath(t), newPath(t)
	must(t, os.WriteFile(empty, nil, 0o600))
	alter(t, blank, func(*bbolt.Tx) error { return nil }) // syncd was killed before it created the buckets
	for _, path := range []string{empty, blank} {
		fill(t, mustOpen(t, path))
	}
}

func TestFileThatCannotBeOpenedIsNotSetAside(t *testing.T) {
	path := newPath(t)
	if err := os.Mkdir(path, 0o700); err != nil { // root may read any file, but opens no folder to write
		t.Fatal(err)
	}
	_, note, err := openAt(t, path, atOnce)
	if _, ok := errors.AsType[*DamagedError](err); err == nil || ok || note != "" || len(aside(t, path)) != 0 {
		t.Errorf("note %q, %v", note, err)
	}
}

func TestOpenReturnsAUsableStoreAfterAnyDamage(t *testing.T) {
	good := newPath(t)
	s := mustOpen(t, good)
	fill(t, s)
	if err := s.Commit(Changes{Planned: maps.Collect(func(yield func(string, iter.Seq[Planned]) bool) { // frees pages
		for i := range 40 {
			if !yield(fmt.Sprintf("manifest_%02d", i), nil) {
				return
			}
		}
	})}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	data, err := os.ReadFile(good)
	must(t, err)
	rounds, unusable := times(40, 400), 0
	pageSize := os.Getpagesize()
	random := rand.New(rand.NewPCG(2026, 10))
	damages := []struct {
		name   string
		damage func(data []byte) []byte
	}{
		{"one byte", func(data []byte) []byte {
			data[random.IntN(len(data))] ^= byte(1 + random.IntN(255))
			return data
		}},
		{"one byte of a page's header", func(data []byte) []byte {
			data[random.IntN(len(data)/pageSize)*pageSize+random.IntN(64)] ^= byte(1 + random.IntN(255))
			return data
		}},
		{"a run of noise", func(data []byte) []byte {
			at := random.IntN(len(data))
			for i := at; i < min(len(data), at+1+random.IntN(600)); i++ {
				data[i] = byte(random.Uint32())
			}
			return data
		}},
		{"a page of zeros", func(data []byte) []byte {
			at := random.IntN(len(data)/pageSize) * pageSize
			clear(data[at : at+pageSize])
			return data
		}},
		{"one page in place of another", func(data []byte) []byte {
			pages := len(data) / pageSize
			from, to := random.IntN(pages)*pageSize, random.IntN(pages)*pageSize
			copy(data[to:to+pageSize], data[from:from+pageSize])
			return data
		}},
		{"truncated", func(data []byte) []byte { return data[:random.IntN(len(data))] }},
		{"truncated to pages", func(data []byte) []byte { return data[:random.IntN(len(data)/pageSize)*pageSize] }},
	}
	dir := t.TempDir()
	for _, row := range damages {
		t.Run(row.name, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					unusable++
				}
			}()
			noted := 0
			for i := range rounds {
				path := filepath.Join(dir, fmt.Sprintf("%s-%d", strings.ReplaceAll(row.name, " ", "-"), i))
				must(t, os.WriteFile(path, row.damage(slices.Clone(data)), 0o600))
				if useDamaged(t, path) {
					noted++
				}
			}
			t.Logf("set aside: %d of %d", noted, rounds)
		})
	}
	t.Logf("RELIABILITY damaged state files: opened after %d kinds of random damage: %d times, lost %d", len(damages), rounds*len(damages), unusable)
}

// useDamaged opens a damaged file and requires a usable store. It returns whether the
// file was set aside.
func useDamaged(t *testing.T, path string) bool {
	t.Helper()
	s, note, err := openAt(t, path, time.Minute)
	if err != nil {
		t.Fatalf("open %s: %v", path, err)
	}
	defer s.Close()
	if (note != "") != (len(aside(t, path)) == 1) {
		t.Errorf("%s: note %q, set aside %q", path, note, aside(t, path))
	}
	got, err := contentOf(s)
	if err != nil {
		t.Fatalf("%s: note %q, then %v", path, note, err)
	}
	if note != "" && len(got.Manifests) != 0 {
		t.Errorf("%s: set aside, but not empty", path)
	}
	s.db.NoSync = true
	for i := range 10 {
		name := fmt.Sprintf("manifest_%02d", 5*i)
		err := s.Commit(Changes{
			Manifests: map[string]Manifest{name: {ETag: strings.Repeat("new", 10*i)}},
			Planned:   listsOf(map[string][]Planned{name: slices.Repeat([]Planned{{Expected: someMD5}}, i)}),
			History:   strings.Repeat("y", 300*i),
		})
		if err != nil {
			t.Fatalf("%s: note %q, then %v", path, note, err)
		}
	}
	if _, err := s.Jitter(func() float64 { return 0.5 }); err != nil {
		t.Errorf("jitter of %s: %v", path, err)
	}
	after, err := contentOf(s)
	if err != nil || after.Manifests["manifest_45"].ETag != strings.Repeat("new", 90) {
		t.Errorf("%s: a committed change is missing: %v", path, err)
	}
	if err := s.check(); err != nil {
		t.Errorf("%s: note %q, then damaged after use: %v", path, note, err)
	}
	return note != ""
}

func TestSetCoolDownRemovesExpiredCoolDowns(t *testing.T) {
	path := newPath(t)
	s := mustOpen(t, path)
	soon := time.Now().Add(time.Hour).Round(0).UTC()
	for i := range 100 {
		must(t, s.SetCoolDown(fmt.Sprintf("https://%d.example.net", i), time.Now().Add(-time.Second)))
	}
	for _, origin := range []string{"https://a.example.net", "https://b.example.net"} {
		must(t, s.SetCoolDown(origin, soon))
	}
	must(t, s.Close())
	got, err := mustOpen(t, path).CoolDowns()
	if diff := cmp.Diff(map[string]time.Time{"https://a.example.net": soon, "https://b.example.net": soon}, got); diff != "" || err != nil {
		t.Errorf("read cool-downs: %v %s", err, diff)
	}
}

// someMD5 is a digest that a content may be expected to have.
var someMD5 = manifest.Digest{Algorithm: manifest.MD5, Sum: [32]byte{0xab}}

func TestWantedContentsKeepTheirFormOnDisk(t *testing.T) {
	const text = `[{"digest":"md5:d41d8cd98f00b204e9800998ecf8427e","sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","size":3},` +
		`{"digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}]`
	s := mustOpen(t, newPath(t))
	write := func(tx *bbolt.Tx) error { return tx.Bucket(bucketPlanned).Put([]byte("m"), []byte(text)) }
	must(t, s.update(write))
	wanted, err := s.Planned()
	if err != nil || len(wanted["m"]) != 2 || wanted["m"][0].Size != 3 || wanted["m"][0].Object.IsZero() || !wanted["m"][1].Object.IsZero() {
		t.Fatalf("got wanted contents %+v, %v", wanted, err)
	}
	must(t, s.Commit(Changes{Planned: listsOf(map[string][]Planned{"again": wanted["m"]})}))
	if err := s.read(func(tx *bbolt.Tx) error {
		if again := string(tx.Bucket(bucketPlanned).Get([]byte("again"))); again != text {
			t.Errorf("written as %s", again)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t testing.TB, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheDateOfTheProviderSurvivesARestart(t *testing.T) {
	path := newPath(t)
	want := Dated{}
	for _, next := range []time.Time{time.Unix(1e9, 0), time.Unix(2e9, 0), {}} {
		s := mustOpen(t, path)
		if d, err := s.Dated(); err != nil || d != want {
			t.Errorf("got %+v, %v, want %+v", d, err, want)
		}
		want = Dated{Header: next.UTC(), SeenAt: next.Add(time.Second).UTC()}
		if err := s.SetDated(want); err != nil {
			t.Error(err)
		}
		s.Close()
	}
}
