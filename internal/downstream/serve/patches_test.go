package serve

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/config"
	"syncd/internal/config/ring"
	"syncd/internal/downstream/bucket"
	"syncd/internal/emulator"
	"syncd/internal/httpserver/accounts"
	"syncd/internal/manifest"
)

// putPatch lays a patch into the data directory of a host, which begins again.
func (h *host) putPatch(before, after manifest.ObjectID, text string) {
	h.Helper()
	path := filepath.Join(h.cfg.DataDir, filepath.FromSlash(bucket.PatchName(before, after)))
	must(h, os.MkdirAll(filepath.Dir(path), 0o700))
	must(h, os.WriteFile(path, []byte(text), 0o600))
	h.restart()
}

// TestPatches are served for what the asker's ring sees, and for nothing else.
func TestPatches(t *testing.T) {
	e := startProvider(t)
	h := startHost(t, e, entry("data"))
	h.cfg.Serve.Rings = []config.Ring{{Name: "canary", StopAbove: ring.NeverStop}, {Name: "rest", Delay: time.Hour, StopAbove: ring.NeverStop}}
	must(t, h.engine.Configure(h.cfg))
	var ids []manifest.ObjectID
	for _, release := range []string{"2026.09", "2026.10"} {
		e.SetManifest("data", release, emulator.File{Name: "a.dat", Content: emulator.Text(strings.Repeat(release, 100))}, emulator.File{Name: "b.dat", Content: emulator.Text("same")})
		h.sync()
		for f := range h.engine.Followers.Catalog().Snapshot().Revisions("data")[0].Files() {
			if f.Reference().Name() == "a.dat" {
				ids = append(ids, f.Object())
			}
		}
	}
	h.putPatch(ids[0], ids[1], "the patch")
	h.putPatch(bucket.Empty, ids[1], "the compressed whole")
	u := ringsOf(t, h)
	name := bucket.PatchName(ids[0], ids[1])
	got := u.get(t, "canary", name)
	etag := got.Header.Get("ETag")
	if got.text != "the patch" || !strings.HasPrefix(etag, `"`+ids[1].String()) || got.Header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("%d %q %v", got.StatusCode, got.text, got.Header)
	}
	if part := u.get(t, "canary", name, "Range", "bytes=4-", "If-Range", etag); part.StatusCode != http.StatusPartialContent || part.text != "patch" {
		t.Errorf("%d %q", part.StatusCode, part.text)
	}
	for _, name := range []string{bucket.PatchName(ids[1], ids[0]), bucket.PatchName(bucket.Empty, ids[0]), bucket.Patches, bucket.Patches + ids[0].String()} {
		if got := u.get(t, "canary", name); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.text)
		}
	}
	if got := u.get(t, "rest", name); got.StatusCode != http.StatusNotFound {
		t.Errorf("a patch to what the ring does not see yet: %d", got.StatusCode)
	}
	newest, _ := u.sees(t, "canary").Manifest("data")
	name = bucket.PatchListName(newest)
	got = u.get(t, "canary", name)
	list, err := bucket.ParsePatchList(name, []byte(got.text))
	want := bucket.NewPatchList([]bucket.Patch{{Old: ids[0], New: ids[1], Size: 9}, {Old: bucket.Empty, New: ids[1], Size: 20}}, nil)
	if err != nil || !bytes.Equal(list.Text(), want.Text()) {
		t.Errorf("%s: %v", got.text, err)
	}
	if again := u.get(t, "canary", name, "If-None-Match", got.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("again: %d", again.StatusCode)
	}
	if got := u.get(t, "rest", name); got.StatusCode != http.StatusNotFound {
		t.Errorf("the list of what the ring does not see yet: %d", got.StatusCode)
	}
	must(t, h.engine.Patches.Yield(1<<40))
	for _, name := range []string{name, bucket.PatchName(ids[0], ids[1])} {
		if got := u.get(t, "canary", name); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s is gone: %d %s", name, got.StatusCode, got.text)
		}
	}
}

// Clients that read a list of patches slowly do not each hold a text of their own.
func TestTheClientsOfAListOfPatchesShareItsText(t *testing.T) {
	e := startProvider(t)
	e.SetManifest("data", "2026.10", emulator.File{Name: "a.dat", Content: emulator.Text(strings.Repeat("a", 100))}, emulator.File{Name: "b.dat", Content: emulator.Text("b")})
	h := startHost(t, e, entry("data"))
	h.sync()
	var ids []manifest.ObjectID
	for f := range h.engine.Followers.Catalog().Snapshot().Revisions("data")[0].Files() {
		ids = append(ids, f.Object())
	}
	h.putPatch(bucket.Empty, ids[0], "one")
	all, err := h.engine.Followers.Generations()
	must(t, err)
	edition, err := all.Of("")
	must(t, err)
	g, err := bucket.ParseGeneration(edition.Number, edition.Text)
	must(t, err)
	cfg := Config{Generations: all, Patches: h.engine.Patches.Store()}
	r, found := all.Record("", g.Manifests[0].Record())
	if !found {
		t.Fatal("no record")
	}
	l, who := patchLists{turns: accounts.NewTurns()}, accounts.OfID("one")
	first, err := l.of(t.Context(), who, r, cfg)
	must(t, err)
	if second, err := l.of(t.Context(), who, r, cfg); err != nil || first == nil || second != first {
		t.Errorf("another text: %v", err)
	}
	must(t, h.engine.Patches.Yield(1<<40))
	if gone, err := l.of(t.Context(), who, r, cfg); err != nil || gone != nil {
		t.Errorf("a list of patches that are gone: %v", err)
	}
}
