package patches

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/patch"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/record"
)

func TestMain(m *testing.M) {
	if IsWorker() {
		os.Exit(Work())
	}
	goleak.VerifyTestMain(m)
}

// host is what a Maker sees of a data directory.
type host struct {
	*testing.T
	dir    string
	root   *fsops.Dir
	log    bytes.Buffer
	maker  *Maker
	memory memory

	mu        sync.Mutex // guards what follows
	settings  Settings
	room      int64
	revisions []mirror.Record // the newest last
}

// memory forgets nothing.
type memory struct{ sizes map[Pair]int64 }

func (m memory) Useless() (map[Pair]int64, error) { return maps.Clone(m.sizes), nil }

func (m memory) SetUseless(sizes map[Pair]int64) error {
	maps.Copy(m.sizes, sizes)
	maps.DeleteFunc(m.sizes, func(_ Pair, size int64) bool { return size < 0 })
	return nil
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{T: t, dir: t.TempDir(), settings: Settings{From: 1, MaxShare: 0.6}, room: 1 << 40, memory: memory{map[Pair]int64{}}}
	var err error
	h.root, err = fsops.OpenDir(h.dir)
	h.must(err)
	t.Cleanup(func() { h.root.Close() })
	h.open()
	return h
}

func (h *host) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// open is a start of the program.
func (h *host) open() {
	h.Helper()
	kept, err := Open(h.root, &durable.Disk{}, h.memory)
	h.must(err)
	h.maker = NewMaker(Config{
		Store: kept, Mirror: h, Records: h, Objects: h, Live: h.live, Log: zerolog.New(&h.log),
		Settings: func() Settings { h.mu.Lock(); defer h.mu.Unlock(); return h.settings },
		Room:     func() int64 { h.mu.Lock(); defer h.mu.Unlock(); return h.room },
		Syncing:  func() bool { return false },
	})
}

func (h *host) Current() mirror.Generation {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := mirror.Generation{Records: map[string]mirror.Record{}}
	if n := len(h.revisions); n > 0 {
		g.Records["m"] = h.revisions[n-1]
	}
	return g
}

func (h *host) RevisionIDs(string) (ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.revisions {
		ids = append(ids, r.ID())
	}
	return ids
}

func (h *host) Revision(_, id string) (mirror.Record, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.revisions {
		if r.ID() == id {
			return r, nil
		}
	}
	return mirror.Record{}, fs.ErrNotExist
}

func (h *host) live(string) map[string]time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	live := map[string]time.Time{}
	for i, r := range h.revisions {
		live[r.ID()] = time.Unix(int64(i), 0)
	}
	return live
}

func (h *host) Find(id manifest.ObjectID) (manifest.Object, bool) {
	info, err := os.Stat(h.Path(id))
	if err != nil {
		return manifest.Object{}, false
	}
	return manifest.Object{ID: id, Size: info.Size()}, true
}

func (h *host) Path(id manifest.ObjectID) string { return filepath.Join(h.dir, "object-"+id.String()) }

// publish lets a revision with files of one letter each go live.
func (h *host) publish(contents ...[]byte) {
	h.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	r := mirror.Record{Manifest: "m", Release: "2026.10", Revision: fmt.Sprintf("%012x", len(h.revisions))}
	for i, content := range contents {
		id := idOf(content)
		h.must(os.WriteFile(h.Path(id), content, 0o600))
		r.Files = append(r.Files, record.File{Path: string(rune('a' + i)), Size: int64(len(content)), Object: id})
	}
	h.revisions = append(h.revisions, r)
}

func idOf(content []byte) manifest.ObjectID { return sha256.Sum256(content) }

// round is one round, which must succeed.
func (h *host) round() {
	h.Helper()
	h.must(h.maker.round(h.Context()))
	if h.log.Len() > 0 {
		h.Error(h.log.String())
		h.log.Reset()
	}
}

// names returns the patches on disk, with names for the contents.
func (h *host) names(contents map[string][]byte) string {
	h.Helper()
	entries, err := os.ReadDir(filepath.Join(h.dir, Dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		name := strings.ReplaceAll(entry.Name(), bucket.Empty.String(), "")
		for word, content := range contents {
			name = strings.ReplaceAll(name, idOf(content).String(), word)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (h *host) has(contents map[string][]byte, want string) {
	h.Helper()
	if names := h.names(contents); names != want {
		h.Errorf("patches %q, want %q", names, want)
	}
}

// text is a content of lines.
func text(seed uint64, lines int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&b, "%d;%d;%x;street %d\n", i, r.IntN(1000), r.Uint64(), r.IntN(100))
	}
	return b.Bytes()
}

// with is a content with other bytes in the middle.
func with(content []byte, word string) []byte {
	after := bytes.Clone(content)
	copy(after[len(after)/2:], word)
	return after
}

func noise(seed uint64, size int) []byte {
	b := make([]byte, size)
	r := rand.New(rand.NewPCG(seed, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// TestPatchesOfARelease makes the patches of a second release, and applies each.
func TestPatchesOfARelease(t *testing.T) {
	h := newHost(t)
	old, same, small, noisy := text(1, 20_000), text(2, 5_000), text(3, 10), noise(1, 300_000)
	changed, smallChanged, noisyChanged := with(old, "changed"), with(small, "changed"), with(noisy, "changed")
	h.publish(old, same, small, noisy)
	h.round()
	contents := map[string][]byte{"old": old, "same": same, "small": small, "noisy": noisy, "old2": changed, "small2": smallChanged, "noisy2": noisyChanged}
	h.has(contents, "-old -same")
	news := 0
	h.maker.OnNews(func(context.Context) { news++ })
	h.publish(changed, same, smallChanged, noisyChanged)
	h.round()
	h.has(contents, "-old -old2 -same noisy-noisy2 old-old2")
	if news != 2 {
		t.Errorf("told news %d times", news)
	}
	list := h.maker.Store().List(h.revisions[1])
	if len(list) != 4 {
		t.Fatalf("the list has %d patches", len(list))
	}
	byID := map[manifest.ObjectID][]byte{bucket.Empty: nil}
	for _, content := range contents {
		byID[idOf(content)] = content
	}
	for _, p := range list {
		f, _, err := h.maker.Store().Open(p.Old, p.New)
		h.must(err)
		defer f.Close()
		before, after := byID[p.Old], byID[p.New]
		opened, err := patch.Open(f, patch.Identity{Size: int64(len(before)), Digest: p.Old}, patch.Identity{Size: int64(len(after)), Digest: p.New})
		h.must(err)
		var made bytes.Buffer
		_, err = opened.Apply(t.Context(), bytes.NewReader(before), f, 0, &made)
		if err != nil || !bytes.Equal(made.Bytes(), after) || p.Size != opened.Size() {
			t.Errorf("the patch of %d bytes makes another content: %v", p.Size, err)
		}
	}
	made, failed := h.maker.Counts()
	if _, bytes := h.maker.Store().Kept(); made != 5 || failed != 0 || bytes == 0 || h.maker.Bytes() != bytes {
		t.Errorf("made %d, failed %d, %d bytes", made, failed, bytes)
	}

	// A start knows everything, and makes nothing again.
	h.must(os.WriteFile(filepath.Join(h.dir, Dir, ".tmp-left"), nil, 0o600))
	h.open()
	h.round()
	h.has(contents, "-old -old2 -same noisy-noisy2 old-old2")
	if made, _ := h.maker.Counts(); made != 0 {
		t.Errorf("made %d again", made)
	}
}

// TestRevisionsBefore makes patches from as many revisions as it is told.
func TestRevisionsBefore(t *testing.T) {
	h := newHost(t)
	one := text(1, 20_000)
	two, three := with(one, "two"), with(one, "three")
	contents := map[string][]byte{"one": one, "two": two, "three": three}
	h.publish(one)
	h.publish(two)
	h.publish(three)
	h.round()
	h.has(contents, "-three two-three")
	h.settings.From = 2
	h.round()
	h.has(contents, "-three one-three two-three")

	h.mu.Lock()
	h.revisions = append(h.revisions, h.revisions[0]) // a rollback
	h.revisions = h.revisions[1:]
	h.mu.Unlock()
	h.round()
	h.has(contents, "-one -three one-three three-one two-one two-three")

	h.mu.Lock()
	h.revisions = h.revisions[2:]
	h.mu.Unlock()
	h.round()
	h.has(contents, "-one three-one two-one")

	h.settings = Settings{}
	h.round()
	h.has(contents, "")
}

// TestShare keeps patches below a share only, and those of before are judged again.
func TestShare(t *testing.T) {
	h := newHost(t)
	old := text(1, 20_000)
	contents := map[string][]byte{"old": old}
	h.settings.MaxShare = 0.05
	h.publish(old)
	h.round()
	h.has(contents, "")
	h.settings.MaxShare = 1
	h.round()
	h.has(contents, "-old")
	h.settings.MaxShare = 0.05
	h.round()
	h.has(contents, "")
	if made, _ := h.maker.Counts(); made != 1 {
		t.Errorf("made %d", made)
	}
	h.open()
	h.round()
	if made, failed := h.maker.Counts(); made+failed != 0 {
		t.Errorf("made %d, failed %d", made, failed)
	}
}

// TestDestroyed removes the patches from a content and to it.
func TestDestroyed(t *testing.T) {
	h := newHost(t)
	old := text(1, 20_000)
	changed := with(old, "changed")
	contents := map[string][]byte{"old": old, "new": changed}
	h.publish(old)
	h.round()
	h.publish(changed)
	h.round()
	h.has(contents, "-new -old old-new")
	h.must(os.Remove(h.Path(idOf(old))))
	removed, err := h.maker.Destroy([]manifest.ObjectID{idOf(old)})
	if err != nil || removed != 2 {
		t.Errorf("removed %d, %v", removed, err)
	}
	h.has(contents, "-new")
	h.maker.settled = ""
	h.round()
	h.has(contents, "-new")
}

// TestRoom makes nothing without room, and gives room back: what saves least goes first.
func TestRoom(t *testing.T) {
	h := newHost(t)
	old := text(1, 20_000)
	changed := with(old, "changed")
	contents := map[string][]byte{"old": old, "new": changed}
	h.publish(old)
	h.publish(changed)
	for _, room := range []int64{-1, 0, 10_000, 11_000} {
		h.room = room
		if err := h.maker.round(t.Context()); !errors.Is(err, errNoRoom) {
			t.Errorf("room of %d bytes: %v", room, err)
		}
	}
	h.has(contents, "old-new")
	h.room = 1 << 40
	h.round()
	h.has(contents, "-new old-new")
	h.must(h.maker.Yield(1))
	h.has(contents, "old-new")
	h.must(h.maker.Yield(1 << 40))
	h.has(contents, "")
}

// TestAnInterruptedPatch ends what is being made, and leaves nothing of it.
func TestAnInterruptedPatch(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*host, context.CancelFunc)
		want error
	}{
		{"destroyed", func(h *host, _ context.CancelFunc) {
			h.must(os.Remove(h.Path(h.revisions[0].Files[0].Object)))
			if _, err := h.maker.Destroy([]manifest.ObjectID{h.revisions[0].Files[0].Object}); err != nil {
				h.Error(err)
			}
		}, nil},
		{"room", func(h *host, _ context.CancelFunc) { h.must(h.maker.Yield(1)) }, errNoRoom},
		{"end", func(_ *host, stop context.CancelFunc) { stop() }, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.publish(bytes.Repeat(text(1, 20_000), 200))
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error)
			go func() { ended <- h.maker.round(ctx) }()
			for h.names(nil) == "" {
				time.Sleep(time.Millisecond)
			}
			c.end(h, stop)
			if err := <-ended; !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			h.has(nil, "")
		})
	}
}

// TestAPatchThatGrew is not listed: nobody uploads or fetches it.
func TestAPatchThatGrew(t *testing.T) {
	h := newHost(t)
	old := text(1, 20_000)
	h.publish(old)
	h.round()
	name := filepath.Join(h.dir, nameOf(Pair{Old: bucket.Empty, New: idOf(old)}))
	for _, size := range []int{len(old) - 1, len(old), 1 << 40} {
		h.must(os.Truncate(name, int64(size)))
		h.open()
		if list := h.maker.Store().List(h.revisions[0]); len(list) > 0 != (size < len(old)) {
			t.Errorf("%d bytes: %v", size, list)
		}
	}
}

// TestADamagedContent is a failure of its patch, and others are made.
func TestADamagedContent(t *testing.T) {
	h := newHost(t)
	old, other := text(1, 20_000), text(2, 5_000)
	h.publish(old, other)
	h.must(os.Truncate(h.Path(idOf(old)), 100))
	h.must(h.maker.round(t.Context()))
	h.has(map[string][]byte{"other": other}, "-other")
	if made, failed := h.maker.Counts(); made != 1 || failed != 1 {
		t.Errorf("made %d, failed %d", made, failed)
	}
	if log := h.log.String(); !strings.Contains(log, idOf(old).String()) || strings.Contains(log, h.dir+"/patches") {
		t.Error(log)
	}
}
