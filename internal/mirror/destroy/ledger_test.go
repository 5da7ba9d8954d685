package destroy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
)

func openLedger(t *testing.T) *Ledger {
	t.Helper()
	root, err := fsops.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	if err := root.EnsureDir("state", 0o700); err != nil {
		t.Fatal(err)
	}
	return NewLedger(root, &durable.Disk{})
}

func noteOf(release manifest.Release, contents int) Note {
	n := Note{
		BegunAt:     time.Date(2026, 11, 1, 2, 3, 4, 0, time.UTC),
		Destruction: Destruction{Manifest: "m", Release: release, Revision: "0123456789ab", Cause: Publisher, Contents: []Content{}, Readers: []Reader{}},
	}
	for i := range contents {
		id := manifest.ObjectID{byte(i), byte(i >> 8), byte(i >> 16), 1}
		n.Add(id.String(), 1, id.Digest())
	}
	return n
}

// Every request for the status asked about a note of 45 MB, and each of them took 70 MB.
func TestALongNoteIsReadOnlyForItsContents(t *testing.T) {
	l := openLedger(t)
	begun := noteOf("2026.10", 50_000)
	begun, err := l.Begin(begun)
	if err != nil {
		t.Fatal(err)
	}
	done, err := l.Finish(begun, begun.BegunAt.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	info, err := l.root.Lstat(filepath.Join(dir, done.file))
	if err != nil || info.Size() < 5<<20 {
		t.Fatalf("a note of %d bytes, %v", info.Size(), err)
	}
	for name, ask := range map[string]func() (int, error){
		"Pending": func() (int, error) {
			pending, err := l.Pending()
			return 1 - len(pending), err
		},
		"Last": func() (int, error) {
			n, _, err := l.Last("m", "2026.10")
			if !n.BegunAt.Equal(begun.BegunAt) || n.Revision != begun.Revision || n.Cause != Publisher {
				t.Errorf("got %+v", n)
			}
			return 1, err
		},
		"Heads": func() (int, error) {
			heads, err := l.Heads("m")
			return len(heads), err
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found, err := ask()
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; err != nil || found != 1 || used > 1<<20 {
			t.Errorf("%s: %d notes, %v, with %d bytes of memory", name, found, err, used)
		}
	}
	all, err := l.Destructions("m")
	if err != nil || len(all) != 1 || len(all[0].Contents) != 50_000 {
		t.Errorf("%d records, %v", len(all), err)
	}
	if _, found, err := l.KeepsOut("m", "2026.10", begun.Expected); !found || err != nil {
		t.Errorf("it does not keep out its own files: %v", err)
	}
	if err := l.Allow("m", "2026.10", begun.BegunAt.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, found, err := l.Last("m", "2026.10"); found || err != nil {
		t.Errorf("an allowed release is kept out, %v", err)
	}
	if all, err := l.Destructions("m"); err != nil || len(all[0].Contents) != 50_000 {
		t.Errorf("permission took the contents away, %v", err)
	}
}

func TestAPendingNoteHasItsContents(t *testing.T) {
	l := openLedger(t)
	begun, err := l.Begin(noteOf("2026.10", 3))
	if err != nil {
		t.Fatal(err)
	}
	again, err := l.Begin(noteOf("2026.10", 1))
	if diff := cmp.Diff(begun, again, cmp.AllowUnexported(Note{})); err != nil || diff != "" {
		t.Errorf("begun twice: %v\n%s", err, diff)
	}
	pending, err := l.Pending()
	if err != nil || len(pending) != 1 {
		t.Fatalf("%d notes, %v", len(pending), err)
	}
	if diff := cmp.Diff(begun, pending[0], cmp.AllowUnexported(Note{})); diff != "" {
		t.Error(diff)
	}
}

// Notes of another order of members are the same notes, and damaged ones are errors.
func TestHeadsOfOtherForms(t *testing.T) {
	n := noteOf("2026.10", 2)
	n.At = n.BegunAt.Add(time.Minute)
	last, err := json.Marshal(struct {
		Destruction
		BegunAt  time.Time         `json:"begun_at"`
		Expected []manifest.Digest `json:"promised"`
	}{n.Destruction, n.BegunAt, n.Expected})
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		text string
		ok   bool
	}{
		"begun_at behind the contents": {string(last), true},
		"cut":                          {string(last[:len(last)/2]), false},
		"empty":                        {"", false},
		"a list":                       {"[]", false},
		"of another manifest":          {`{"begun_at":"2026-11-01T00:00:00Z","manifest":"other","contents":[]}`, false},
		"other types":                  {`{"begun_at":"2026-11-01T00:00:00Z","manifest":1,"contents":[]}`, false},
	} {
		l := openLedger(t)
		folder := filepath.Join(l.root.Path(dir), "m")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "2026.10-0123456789ab.1"), []byte(row.text), 0o600); err != nil {
			t.Fatal(err)
		}
		heads, err := l.Heads("m")
		if (err == nil) != row.ok || (len(heads) == 1) != row.ok {
			t.Errorf("%s: %d heads, %v", name, len(heads), err)
			continue
		}
		if row.ok {
			want := n.Destruction
			want.Contents, want.Readers = nil, nil
			if diff := cmp.Diff(want, heads[0], cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}
