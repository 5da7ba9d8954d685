package verify

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
)

// known holds published test vectors (FIPS 180, RFC 1321, RFC 3174).
var known = []struct {
	text string
	hex  map[manifest.Algorithm]string
}{
	{"", map[manifest.Algorithm]string{
		manifest.SHA256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		manifest.SHA1:   "da39a3ee5e6b4b0d3255bfef95601890afd80709",
		manifest.MD5:    "d41d8cd98f00b204e9800998ecf8427e",
	}},
	{"abc", map[manifest.Algorithm]string{
		manifest.SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		manifest.SHA1:   "a9993e364706816aba3e25717850c26c9cd0d89d",
		manifest.MD5:    "900150983cd24fb0d6963f7d28e17f72",
	}},
	{strings.Repeat("a", 1_000_000), map[manifest.Algorithm]string{
		manifest.SHA256: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
		manifest.SHA1:   "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
		manifest.MD5:    "7707d6ae4e027c70eea2a935c2296f21",
	}},
}

func digest(algorithm manifest.Algorithm, hex string) manifest.Digest {
	d, err := manifest.ParseDigest(algorithm, hex)
	if err != nil {
		panic(err)
	}
	return d
}

func folderWith(t testing.TB, text string) *fsops.Dir {
	t.Helper()
	dir, err := fsops.OpenDir(t.TempDir())
	must(t, err)
	t.Cleanup(func() { dir.Close() })
	must(t, os.WriteFile(dir.Path("file"), []byte(text), 0o600))
	return dir
}

func TestFilesAreProvenByEveryAlgorithm(t *testing.T) {
	for _, vector := range known {
		dir := folderWith(t, vector.text)
		want := manifest.Object{ID: digest(manifest.SHA256, vector.hex[manifest.SHA256]).Sum, Size: int64(len(vector.text))}
		for algorithm, hex := range vector.hex {
			got, err := File(context.Background(), dir, "file", digest(algorithm, hex))
			if err != nil {
				t.Errorf("%s of %d bytes: %v", algorithm, want.Size, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", algorithm, diff)
			}
		}
	}
}

func TestOtherContentIsAMismatchThatNamesBothDigests(t *testing.T) {
	for algorithm, hex := range known[1].hex {
		expected := digest(algorithm, hex)
		for _, text := range []string{"", "ab", "abd", "abc\n", "Abc"} {
			object, err := File(context.Background(), folderWith(t, text), "file", expected)
			var mismatch *Mismatch
			if !errors.As(err, &mismatch) || object != (manifest.Object{}) {
				t.Fatalf("%s of %q: %+v, %v", algorithm, text, object, err)
			}
			if mismatch.Expected != expected || mismatch.Actual == expected || !strings.Contains(err.Error(), hex) || !strings.Contains(err.Error(), mismatch.Actual.Hex()) {
				t.Errorf("%s of %q: %v", algorithm, text, err)
			}
		}
	}
}

func TestADigestOfAnotherAlgorithmOrNoneProvesNothing(t *testing.T) {
	h := NewHasher(manifest.SHA256)
	h.Write([]byte("abc"))
	for _, expected := range []manifest.Digest{
		{},
		{Algorithm: manifest.SHA256},
		digest(manifest.MD5, known[1].hex[manifest.MD5]),
		{Algorithm: manifest.SHA1, Sum: digest(manifest.SHA256, known[1].hex[manifest.SHA256]).Sum},
	} {
		if _, err := h.Check(expected); err == nil {
			t.Errorf("proven by %+v", expected)
		}
	}
}

func TestHasherSeesOneContentHoweverItIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		algorithm := rapid.SampledFrom([]manifest.Algorithm{manifest.SHA256, manifest.SHA1, manifest.MD5}).Draw(t, "algorithm")
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		whole, cut := NewHasher(algorithm), NewHasher(algorithm)
		whole.Write(data)
		for rest := data; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if written, err := cut.Write(rest[:n]); written != n || err != nil {
				t.Fatal(written, err)
			}
			cut.Digest() // looking does not change it
			rest = rest[n:]
		}
		if whole.Digest() != cut.Digest() || whole.Object() != cut.Object() || cut.Size() != int64(len(data)) {
			t.Fatalf("%v %v, %v %v", whole.Digest(), cut.Digest(), whole.Object(), cut.Object())
		}
	})
}

func TestFilesThatCannotBeReadAreErrorsAndNoMismatch(t *testing.T) {
	expected := digest(manifest.MD5, known[0].hex[manifest.MD5])
	var mismatch *Mismatch
	dir := folderWith(t, "")
	must(t, os.Mkdir(dir.Path("folder"), 0o755))
	if _, err := File(context.Background(), dir, "missing", expected); !errors.Is(err, fs.ErrNotExist) || errors.As(err, &mismatch) {
		t.Errorf("missing: %v", err)
	}
	if _, err := File(context.Background(), dir, "folder", expected); err == nil || errors.As(err, &mismatch) {
		t.Errorf("folder: %v", err)
	}
}

// endsAfter is a context that ends when it has been looked at n times.
type endsAfter struct {
	context.Context
	n int
}

func (c *endsAfter) Err() error {
	if c.n--; c.n < 0 {
		return context.Canceled
	}
	return nil
}

func TestTheContextEndsALongRead(t *testing.T) {
	dir := folderWith(t, "")
	if err := os.Truncate(dir.Path("file"), 1<<42); err != nil { // sparse; hours to read
		t.Skipf("NOT TESTED: no large sparse files here: %v", err)
	}
	ctx := &endsAfter{Context: context.Background(), n: 8}
	_, err := File(ctx, dir, "file", digest(manifest.MD5, known[0].hex[manifest.MD5]))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestAnEndedContextReadsNothing(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stop)
	h, err := HashFile(ctx, folderWith(t, "abc"), "file", manifest.MD5)
	if !errors.Is(err, stop) || h.Size() != 0 {
		t.Errorf("%d bytes, %v", h.Size(), err)
	}
}
