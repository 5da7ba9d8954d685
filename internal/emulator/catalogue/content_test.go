package catalogue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"testing"

	"pgregory.net/rapid"
)

func readAll(t testing.TB, c Content) []byte {
	t.Helper()
	f, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A read at any offset returns the same bytes as a read of the whole.
func TestRandomReadsAtAnyOffset(t *testing.T) {
	const size = 3*randomBlockSize + 4711
	c := Random(42, size)
	whole := readAll(t, c)
	if int64(len(whole)) != c.Size() {
		t.Fatalf("%d bytes, want %d", len(whole), c.Size())
	}
	rapid.Check(t, func(t *rapid.T) {
		off := rapid.Int64Range(0, size).Draw(t, "off")
		n := rapid.Int64Range(0, 2*randomBlockSize).Draw(t, "n")
		f, err := c.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Seek(off, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.LimitReader(f, n))
		if err != nil || !bytes.Equal(got, whole[off:min(off+n, size)]) {
			t.Fatalf("other bytes at %d, %v", off, err)
		}
	})
}

func TestRandomDiffersBySeedAndBlock(t *testing.T) {
	seen := make(map[[32]byte]string)
	for seed := range uint64(3) {
		b := readAll(t, Random(seed, 3*randomBlockSize))
		for i := 0; i < len(b); i += randomBlockSize {
			sum, name := sha256.Sum256(b[i:i+randomBlockSize]), fmt.Sprintf("seed %d, offset %d", seed, i)
			if seen[sum] != "" {
				t.Errorf("%s is the same as %s", name, seen[sum])
			}
			seen[sum] = name
		}
	}
	if !bytes.Equal(readAll(t, Random(9, 1000)), readAll(t, Random(9, 2000))[:1000]) {
		t.Error("the size changes the bytes")
	}
	if n := len(readAll(t, Random(9, 0))); n != 0 {
		t.Errorf("%d bytes of none", n)
	}
}

func TestHashStopsWhenRequestEnds(t *testing.T) {
	c := New("")
	c.SetManifest("m", "2026.10", File{Name: "a", Content: Random(1, 1<<40)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	it, ok := c.File(File{Class: ClassData, Release: "2026.10", Name: "a"})
	if !ok {
		t.Fatal("no file")
	}
	if _, err := c.Sums(ctx, it, "MD5"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkRandom(b *testing.B) {
	f, err := Random(1, 1<<50).Open()
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 32<<10)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		if _, err := f.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
}
