package relay_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"syncd/internal/disk/durable"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/relay"
	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/mirror"
)

// given are the texts of a generation with one record, whose text is name.
func given(number int, name, statement string) (current, generation []byte, m bucket.Manifest) {
	m = bucket.Manifest{Name: "data", Release: "2026.10", Revision: "0123456789ab", Files: 1, RecordSHA256: sha256.Sum256([]byte(name))}
	g := bucket.Generation{Number: number, Manifests: []bucket.Manifest{m}}.Text()
	return bucket.Current{Generation: number, SHA256: sha256.Sum256(g), Statement: statement}.Text(), g, m
}

func TestTheNewestTextsAreKept(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "data")
	m, err := mirror.Open(dir, &durable.Disk{})
	must(err)
	must(m.MakeState())
	t.Cleanup(func() { must(m.Close()) })
	open := func() *relay.Folder { return relay.Open(m.Root(), &durable.Disk{}) }
	f := open()
	var last bucket.Manifest
	for n := 1; n <= 20; n++ {
		current, generation, entry := given(n, string(rune('a'+n)), "one")
		must(f.Keep(current, generation))
		must(f.KeepRecord(entry, func(to io.Writer) error {
			_, err := io.WriteString(to, string(rune('a'+n)))
			return err
		}))
		last = entry
	}
	check := func(statement string, numbers ...int) {
		t.Helper()
		texts := f.Texts()
		if len(texts) != len(numbers) {
			t.Fatalf("%d texts are kept, want %d", len(texts), len(numbers))
		}
		for i, n := range numbers {
			if texts[i].Generation.Number != n {
				t.Errorf("text %d is of generation %d, want %d", i, texts[i].Generation.Number, n)
			}
		}
		if texts[0].Current.Statement != statement {
			t.Errorf("%+v", texts[0].Current)
		}
	}
	check("one", 20, 19, 18, 17, 16, 15, 14, 13)
	f = open()
	check("one", 20, 19, 18, 17, 16, 15, 14, 13)
	current, _, _ := given(20, "u", "two")
	must(f.Keep(current, nil))
	check("two", 20, 19, 18, 17, 16, 15, 14, 13)
	current, generation, _ := given(15, "p", "three") // the host came into another ring
	must(f.Keep(current, generation))
	check("three", 15, 20, 19, 18, 17, 16, 14, 13)
	current, _, _ = given(99, "z", "lost")
	must(f.Keep(current, nil))
	check("three", 15, 20, 19, 18, 17, 16, 14, 13)

	files, err := os.ReadDir(filepath.Join(dir, "state/upstream/records"))
	must(err)
	if len(files) != 8 || f.Lacks(last) {
		t.Errorf("%d records are kept, want those of 8 generations", len(files))
	}
	text, err := f.Record(last.RecordSHA256)
	must(err)
	got, err := io.ReadAll(text)
	must(errors.Join(err, text.Close()))
	if string(got) != "u" {
		t.Errorf("%q", got)
	}
	other := last
	other.RecordSHA256 = manifest.ObjectID{1}
	if err := f.KeepRecord(other, func(to io.Writer) error {
		_, _ = io.WriteString(to, "half")
		return io.ErrUnexpectedEOF
	}); err == nil || !f.Lacks(other) {
		t.Errorf("half of a record is kept: %v", err)
	}

	destroyed := bucket.Generation{Number: 30, Destruction: map[string]destruction.Order{"data": {Gone: []destruction.Gone{{Release: "2026.10"}}}}}.Text()
	must(f.Keep(bucket.Current{Generation: 30, SHA256: sha256.Sum256(destroyed)}.Text(), destroyed))
	if files, err := os.ReadDir(filepath.Join(dir, "state/upstream/records")); err != nil || len(files) != 0 {
		t.Errorf("%d records of destroyed revisions are kept, %v", len(files), err)
	}

	for _, damaged := range []string{"", "{", "null", `[{"current":"{}","generation":"{}"}]`, `[{"current":1}]`} {
		must(os.WriteFile(filepath.Join(dir, "state/upstream/texts.json"), []byte(damaged), 0o600))
		if texts := open().Texts(); len(texts) != 0 {
			t.Errorf("%q: %+v", damaged, texts)
		}
	}
	f = open()
	current, generation, _ = given(21, "v", "four")
	must(f.Keep(current, generation))
	check("four", 21)
}

// A host that follows a bucket took a bundle: what is older in the bucket is not passed on.
func TestWhatIsOlderOnAnotherWayIsNotKept(t *testing.T) {
	m, err := mirror.Open(filepath.Join(t.TempDir(), "data"), &durable.Disk{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.MakeState(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	f := relay.Open(m.Root(), &durable.Disk{})
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		count  string
		number int
		issued time.Duration
		newest int
	}{
		{bucket.CountBucket, 11, 0, 11}, {bucket.CountHost, 470_371, time.Hour, 470_371}, {bucket.CountBucket, 11, 0, 470_371},
		{bucket.CountBucket, 11, 2 * time.Hour, 11}, {bucket.CountBucket, 10, time.Hour, 10}, // the host came into another ring
	} {
		g := bucket.Generation{Number: row.number, Count: row.count}.Text()
		statement := fmt.Sprintf("syncd-generation/v1\norigin o\ngeneration %d\nsha256 %x\nissued %s\nexpires %s\n",
			row.number, sha256.Sum256(g), noon.Add(row.issued).Format(time.RFC3339), noon.AddDate(0, 0, 1).Format(time.RFC3339))
		if err := f.Keep(bucket.Current{Generation: row.number, SHA256: sha256.Sum256(g), Statement: statement}.Text(), g); err != nil {
			t.Fatal(err)
		}
		if newest := f.Texts()[0].Generation.Number; newest != row.newest {
			t.Errorf("%+v: generation %d is passed on", row, newest)
		}
	}
}
