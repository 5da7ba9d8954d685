package syncer_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/patch"
	"syncd/internal/manifest"
	"syncd/internal/report"
)

// noise is a content that does not compress.
func noise(seed byte, size int) string {
	all := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(all)
	return string(all)
}

// halfNew is a content of which every second half MiB is the old one's.
func halfNew(old string, seed byte) string {
	next := []byte(noise(seed, len(old)))
	for at := 0; at < len(old); at += 1 << 20 {
		copy(next[at:min(at+1<<19, len(next))], old[at:])
	}
	return string(next)
}

// made is a patch, and what a list says of it.
type made struct {
	bucket.Patch
	text []byte
}

func contentOf(text string) patch.Content {
	return patch.Content{ReaderAt: strings.NewReader(text), Identity: patch.Identity{Size: int64(len(text)), Digest: sha256.Sum256([]byte(text))}}
}

// inMemory is an io.WriterAt.
type inMemory struct{ text []byte }

func (m *inMemory) WriteAt(b []byte, at int64) (int, error) {
	if missing := int(at) + len(b) - len(m.text); missing > 0 {
		m.text = append(m.text, make([]byte, missing)...)
	}
	return copy(m.text[at:], b), nil
}

func makePatch(t testing.TB, old, next string) made {
	t.Helper()
	var to inMemory
	before, after := contentOf(old), contentOf(next)
	_, err := patch.Make(t.Context(), before, after, &to)
	must(t, err)
	return made{bucket.Patch{Old: before.Digest, New: after.Digest, Size: int64(len(to.text))}, to.text}
}

// offersPatches puts patches and their list into the mirror, beside its newest generation.
func (u *upstream) offersPatches(t testing.TB, all ...made) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	current, err := bucket.ParseCurrent(u.mirror[bucket.CurrentName])
	must(t, err)
	g, err := bucket.ParseGeneration(current.Generation, u.mirror[bucket.GenerationName(current.Generation)])
	must(t, err)
	var listed []bucket.Patch
	for _, m := range all {
		u.mirror[m.Name()] = m.text
		listed = append(listed, m.Patch)
	}
	list := bucket.NewPatchList(listed, func(manifest.ObjectID) int64 { return 0 })
	u.mirror[bucket.PatchListName(g.Manifests[0])] = list.Text()
}

// patchWorld serves a release with a large file, and the upstream has the next one.
func patchWorld(t *testing.T, old, next string) (*world, *upstream) {
	t.Helper()
	w, u := upstreamWith(t, bucket.Generation{Number: 1}, of10("2026.09", files{"a.dat": old, "same.dat": "same"}))
	w.expect(w.poll(), "data", report.Updated)
	w.offerIn(u, bucket.Generation{Number: 2}, of10("2026.10", files{"a.dat": next, "same.dat": "same"}))
	u.asked()
	return w, u
}

func TestAChangedFileComesAsAPatch(t *testing.T) {
	old := noise(1, 9<<20)
	next := old[:4<<20] + "inserted" + old[4<<20:]
	w, u := patchWorld(t, old, next)
	p := makePatch(t, old, next)
	u.offersPatches(t, p, makePatch(t, "unknown here", next), makePatch(t, "", next[:100]))
	m := w.expect(w.poll(), "data", report.Updated)
	w.serves("data", files{"a.dat": next, "same.dat": "same"})
	asked := u.asked()
	if of := kinds(asked); of["patches"] != 2 || of["objects"] != 0 || len(asked) != 5 {
		t.Errorf("asked for %v", asked)
	}
	if m.BytesDownloaded != p.Size || p.Size > 100_000 {
		t.Errorf("%d bytes came, the patch has %d", m.BytesDownloaded, p.Size)
	}
}

func TestANewFileComesCompressed(t *testing.T) {
	content := strings.Repeat(noise(2, 1<<10), 3<<10)
	w := start(t, "data")
	u := w.behindUpstream()
	w.offerIn(u, bucket.Generation{Number: 1}, of10("2026.10", files{"a.dat": content}))
	p := makePatch(t, "", content)
	u.offersPatches(t, p)
	m := w.expect(w.poll(), "data", report.Updated)
	w.serves("data", files{"a.dat": content})
	if of := kinds(u.asked()); of["objects"] != 0 || m.BytesDownloaded != p.Size {
		t.Errorf("%d bytes of %d, asked for %v", m.BytesDownloaded, p.Size, of)
	}
}

// Whatever is wrong with a patch, or with the content that it is for, the new content comes
// whole.
func TestAHostilePatchCostsNothingButItsBytes(t *testing.T) {
	old := noise(3, 5<<20)
	next := halfNew(old, 4)
	other := halfNew(old, 5)
	good, wrong := makePatch(t, old, next), makePatch(t, old, other)
	sized := func(m made, size int64) made {
		m.Size = size
		return m
	}
	texted := func(text []byte) []made {
		return []made{{bucket.Patch{Old: good.Old, New: good.New, Size: int64(len(text))}, text}}
	}
	renamed := bytes.Replace(wrong.text, wrong.New[:], good.New[:], 1)
	damaged := bytes.Clone(good.text)
	for i := len(damaged) / 2; i < len(damaged); i += 1 << 10 {
		damaged[i]++
	}
	for name, forged := range map[string]struct {
		patches []made
		spoil   func(w *world, u *upstream)
	}{
		"a list that is none": {spoil: func(_ *world, u *upstream) {
			for name := range u.mirror {
				if strings.HasPrefix(name, bucket.Patches+"data/") {
					u.mirror[name] = []byte("[]")
				}
			}
		}},
		"a patch that is not there": {spoil: func(_ *world, u *upstream) { delete(u.mirror, good.Name()) }},
		"a patch above the content": {patches: []made{sized(good, 6<<20)}},
		"a longer one":              {patches: []made{sized(good, good.Size-1)}},
		"a shorter one":             {patches: []made{sized(good, good.Size+1)}},
		"cut":                       {patches: texted(good.text[:len(good.text)/2])},
		"empty":                     {patches: texted([]byte{0})},
		"of other contents":         {patches: texted(wrong.text)},
		"to another content":        {patches: texted(renamed)},
		"damaged":                   {patches: texted(damaged)},
		"a rotten old content": {spoil: func(w *world, _ *upstream) {
			path := w.objectPath(good.Old)
			must(w, os.Chmod(path, 0o600))
			must(w, os.WriteFile(path, []byte(noise(9, len(old))), 0o600))
		}},
		"a short old content": {spoil: func(w *world, _ *upstream) { must(w, os.Truncate(w.objectPath(good.Old), 100)) }},
		"no old content":      {spoil: func(w *world, _ *upstream) { must(w, os.Remove(w.objectPath(good.Old))) }},
		"an upstream that breaks each patch": {spoil: func(_ *world, u *upstream) {
			u.front = func(_ http.ResponseWriter, r *http.Request) bool {
				if strings.HasPrefix(r.URL.Path, "/-/mirror/"+bucket.PatchName(good.Old, good.New)) {
					panic(http.ErrAbortHandler)
				}
				return false
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, u := patchWorld(t, old, next)
			if forged.patches == nil {
				forged.patches = []made{good}
			}
			u.offersPatches(t, forged.patches...)
			if forged.spoil != nil {
				u.mu.Lock()
				forged.spoil(w, u)
				u.mu.Unlock()
			}
			w.expect(w.poll(), "data", report.Updated)
			if served := w.tree("data"); served["a.dat"] != next {
				t.Error("another content is served")
			}
			if of := kinds(u.asked()); of["objects"] == 0 {
				t.Errorf("the whole content was not asked for: %v", of)
			}
		})
	}
}

// A process that ends in the middle of a patch fetches nothing twice but the segment that it
// was in.
func TestAPatchGoesOnInTheNextProcess(t *testing.T) {
	old := noise(6, 16<<20)
	next := halfNew(old, 7)
	w, u := patchWorld(t, old, next)
	p := makePatch(t, old, next)
	u.offersPatches(t, p)
	var sent, cut atomic.Int64
	ranges := make(chan string, 10)
	u.mu.Lock()
	u.sends = func(name string, n int64) {
		if name == p.Name() {
			sent.Add(n)
		}
	}
	u.front = func(rw http.ResponseWriter, r *http.Request) bool {
		if cut.Load() > 0 {
			panic(http.ErrAbortHandler) // it is gone
		}
		if r.URL.Path != "/-/mirror/"+p.Name() {
			return false
		}
		rw.Header().Set("Content-Length", fmt.Sprint(p.Size))
		n, _ := io.Copy(rw, bytes.NewReader(p.text[:p.Size*5/8]))
		cut.Store(n)
		panic(http.ErrAbortHandler)
	}
	u.mu.Unlock()
	w.source.Retry.MaxElapsed /= 10
	w.configure()
	w.expect(w.poll(), "data", report.Failed)
	w.restart()
	u.mu.Lock()
	u.front = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/-/mirror/"+p.Name() {
			ranges <- r.Header.Get("Range")
		}
		return false
	}
	u.mu.Unlock()
	u.asked()
	m := w.expect(w.force(), "data", report.Updated)
	if served := w.tree("data"); served["a.dat"] != next {
		t.Error("another content is served")
	}
	if len(ranges) != 2 || <-ranges == "" || <-ranges == "" {
		t.Error("the patch was asked for from its beginning, or often")
	}
	before, after := cut.Load(), sent.Load()
	if twice := before + after - p.Size; twice > 2<<20 || m.BytesDownloaded > after || m.BytesDownloaded < after-1000 {
		t.Errorf("%d and %d bytes came of a patch of %d; %d were counted", before, after, p.Size, m.BytesDownloaded)
	}
	if of := kinds(u.asked()); of["objects"] != 0 {
		t.Errorf("asked for %v", of)
	}
}

// An outage is not the fault of a patch.
func TestAPatchIsUsedAfterAnOutage(t *testing.T) {
	old := noise(1, 5<<20)
	next := halfNew(old, 2)
	w, u := patchWorld(t, old, next)
	p := makePatch(t, old, next)
	u.offersPatches(t, p)
	left := 9 // requests without an answer
	u.mu.Lock()
	u.front = func(_ http.ResponseWriter, r *http.Request) bool {
		name := strings.TrimPrefix(r.URL.Path, "/-/mirror/")
		u.mu.Lock()
		defer u.mu.Unlock()
		if left > 0 && (name == p.Name() || strings.HasPrefix(name, bucket.Objects)) {
			left--
			panic(http.ErrAbortHandler)
		}
		return false
	}
	u.mu.Unlock()
	m := w.expect(w.poll(), "data", report.Updated)
	if served := w.tree("data"); served["a.dat"] != next || m.BytesDownloaded > p.Size+1<<20 {
		t.Errorf("%d bytes came, the patch has %d", m.BytesDownloaded, p.Size)
	}
}
