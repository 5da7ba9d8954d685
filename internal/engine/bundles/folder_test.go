package bundles

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"syncd/internal/downstream/believer"
	"syncd/internal/downstream/bundle"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// inFile is a bundle of a generation.
func inFile(t *testing.T, number int) []byte {
	t.Helper()
	f := newOrigin(t, "mirror.example.net", 1, "a").offers(number, "2026.10").write(t)[0]
	whole := make([]byte, f.Size)
	if _, err := f.ReadAt(whole, 0); err != nil {
		t.Fatal(err)
	}
	return whole
}

func put(t *testing.T, folder, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTheNewestWholeBundleIsFound(t *testing.T) {
	folder := t.TempDir()
	d := NewFolder(folder)
	newest := func(taken ...manifest.ObjectID) string {
		t.Helper()
		f, err := d.newest(taken)
		if err != nil {
			t.Fatal(err)
		}
		if f == nil {
			return ""
		}
		return filepath.Base(f.paths[0])
	}
	seven, eight := inFile(t, 7), inFile(t, 8)
	for _, step := range []struct {
		name string
		data []byte
		want string
	}{
		{"notes.txt", []byte("text"), ""}, {"half.tar", eight[:len(eight)-512], ""}, {".hidden.tar", eight, ""},
		{"b7.tar", seven, "b7.tar"}, {"b8.tar", eight, "b8.tar"}, {"b8.tar", eight[:900], "b7.tar"},
	} {
		put(t, folder, step.name, step.data)
		if got := newest(); got != step.want {
			t.Errorf("after %s: %q, want %q", step.name, got, step.want)
		}
	}
	other := inFile(t, 7) // another bundle of the generation
	put(t, folder, "again7.tar", other)
	v, err := bundle.Look(filepath.Join(folder, "again7.tar"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(other, seven) {
		t.Fatal("the same bundle")
	}
	if got := newest(v.ID); got != "b7.tar" {
		t.Errorf("%s is taken again", got)
	}
	if got := newest(); got == "" {
		t.Error("nothing")
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if got := newest(); got != "" {
		t.Errorf("%s is in a folder that is gone", got)
	}
}

func TestABundleMustStayUnchanged(t *testing.T) {
	folder, data := t.TempDir(), inFile(t, 7)
	synctest.Test(t, func(t *testing.T) {
		d := NewFolder(folder)
		put(t, folder, "b.tar", data)
		if d.Settled() != "" {
			t.Error("a bundle that has just appeared is taken")
		}
		time.Sleep(settled - time.Second)
		if d.Settled() != "" {
			t.Error("a bundle is taken after 9 s")
		}
		put(t, folder, "b.tar", data[:900])
		d.Settled()
		put(t, folder, "b.tar", data)
		time.Sleep(2 * time.Second)
		if d.Settled() != "" {
			t.Error("a bundle that was changed is taken")
		}
		began := time.Now()
		if f, err := d.settle(t.Context(), nil); err != nil || f == nil || time.Since(began) < settled-3*time.Second {
			t.Errorf("%v after %s, %v", f, time.Since(began), err)
		}
		if d.Settled() == "" {
			t.Error("a bundle that stays is not taken")
		}
	})
}

// Another user may write in the folder: names beyond the most that are looked at take no memory.
func TestAFolderOfEndlessNamesIsNotReadToItsEnd(t *testing.T) {
	const names, longest = 6 * maxFiles, 200
	folder := t.TempDir()
	put(t, folder, "one", nil)
	for i := range names {
		if err := os.Link(filepath.Join(folder, "one"), filepath.Join(folder, fmt.Sprintf("%0*d", longest, i))); err != nil {
			t.Fatal(err)
		}
	}
	d := NewFolder(folder)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := d.newest(nil)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "use a folder for bundles alone") {
		t.Errorf("got %v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > names/2*longest {
		t.Errorf("%d bytes of memory for %d names", took, names)
	}
}

// Whoever can write in the folder could let this host read for days.
func TestContentsOfABundleThatIsNotBelievedAreNotRead(t *testing.T) {
	near, stranger := newOrigin(t, "mirror.example.net", 1, "a"), newOrigin(t, "mirror.example.net", 1, "a")
	for name, f := range map[string]struct {
		offer  *offer
		reason refusal.Reason
	}{
		"its own":   {near.offers(7, "2026.10"), refusal.HashMismatch},
		"forged":    {stranger.offers(8, "2026.10"), refusal.Unsigned},
		"too large": {near.offers(7, "2026.10"), refusal.TooLarge},
	} {
		folder := t.TempDir()
		if name == "too large" {
			f.offer.content = append(f.offer.content, make([]byte, 1<<20)...)
		} else {
			f.offer.content[0]++ // damage, which only who reads the contents notices
		}
		file := f.offer.write(t)[0]
		whole := make([]byte, file.Size)
		if _, err := file.ReadAt(whole, 0); err != nil {
			t.Fatal(err)
		}
		put(t, folder, "b.tar", whole)
		believes, err := believer.New(near.chain, &belief{}, func() time.Time { return start })
		if err != nil {
			t.Fatal(err)
		}
		d := NewFolder(folder)
		if _, err = d.newest(nil); err != nil {
			t.Fatal(err)
		}
		d.seen["b.tar"].since = time.Now().Add(-settled)
		_, err = d.Open(t.Context(), Config{Store: &memory{}, Believer: believes})
		if refusal.ReasonOf(err) != f.reason || !strings.Contains(err.Error(), "b.tar") {
			t.Errorf("%s: got %v, want %s", name, err, f.reason)
		}
	}
}
