package manifest

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// digestOf makes digests that differ when their texts do.
func digestOf(algorithm Algorithm, text string) Digest {
	d := Digest{Algorithm: algorithm}
	copy(d.Sum[:], text)
	return d
}

func TestRevisionIDIsTheHashOfTheSortedSums(t *testing.T) {
	// printf '%s\n' "$EMPTY  a.dat" "$EMPTY  linux/b.so" | sha256sum | cut -c1-12
	const want = "096aeeecc983"
	empty := ObjectID(sha256.Sum256(nil))
	a, b := Sum{Object: empty, Path: "a.dat"}, Sum{Object: empty, Path: "linux/b.so"}
	if got := RevisionID([]Sum{a, b}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	given := []Sum{b, a}
	if got := RevisionID(given); got != want {
		t.Errorf("in another order: got %s, want %s", got, want)
	}
	if given[0] != b {
		t.Error("the caller's list was sorted")
	}
	if got := RevisionID(nil); got != emptySHA256[:12] {
		t.Errorf("of nothing: got %s", got)
	}
}

func TestFingerprintIsEqualExactlyWhenPathsAndDigestsAre(t *testing.T) {
	file := func(path, digit string, algorithm Algorithm) File {
		return File{Path: path, Expected: digestOf(algorithm, digit)}
	}
	base := []File{file("a", "00", MD5), file("b", "11", MD5)}
	released := []File{base[1], base[0]}
	released[0].Reference = Parts{Class: Data, Release: "2026.10", Name: "b"}.Reference()
	if Fingerprint(base) != Fingerprint(released) {
		t.Error("order or release changed it")
	}
	for name, other := range map[string][]File{
		"a path":          {file("a", "00", MD5), file("c", "11", MD5)},
		"a digest":        {file("a", "00", MD5), file("b", "12", MD5)},
		"an algorithm":    {file("a", "00", MD5), file("b", "11", SHA1)},
		"digests swapped": {file("a", "11", MD5), file("b", "00", MD5)},
		"one more":        {base[0], base[1], file("c", "22", MD5)},
		"one less":        {base[0]},
		"one twice":       {base[0], base[1], base[1]},
		"none":            nil,
	} {
		if Fingerprint(base) == Fingerprint(other) {
			t.Errorf("%s: not seen", name)
		}
	}
}

func TestPlanFetchesEachMissingContentOnce(t *testing.T) {
	digest := func(digit string) Digest { return digestOf(MD5, digit) }
	files := []File{{Path: "a", Expected: digest("1")}, {Path: "b", Expected: digest("2")}, {Path: "c", Expected: digest("1")}, {Path: "d", Expected: digest("3")}, {Path: "e", Expected: digest("2")}}
	two, asked := ObjectID{2}, map[Digest]int{}
	plan := NewPlan(files, func(f File) (Object, bool) {
		asked[f.Expected]++
		return Object{ID: two, Size: 2}, f.Expected == digest("2")
	})
	same(t, map[Digest]Object{digest("2"): {ID: two, Size: 2}}, maps.Collect(plan.Known.All()))
	same(t, []*File{&files[0], &files[3]}, plan.Missing)
	same(t, map[Digest]int{digest("1"): 1, digest("2"): 1, digest("3"): 1}, asked)
}

func TestAPlanCoversEveryFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.SliceOf(rapid.IntRange(0, 5)).Draw(t, "digests")
		onDisk := rapid.SliceOfN(rapid.Bool(), 6, 6).Draw(t, "on disk")
		files := make([]File, len(digits))
		for i, d := range digits {
			files[i] = File{Path: fmt.Sprint(i), Expected: digestOf(MD5, fmt.Sprint(d))}
		}
		plan := NewPlan(files, func(f File) (Object, bool) { return Object{}, onDisk[f.Expected.Sum[0]-'0'] })
		fetched := map[Digest]bool{}
		for _, f := range plan.Missing {
			if fetched[f.Expected] {
				t.Fatalf("%s is fetched twice", f.Expected)
			}
			fetched[f.Expected] = true
		}
		for _, f := range files {
			if _, known := plan.Known.Get(f.Expected); known == fetched[f.Expected] {
				t.Fatalf("%s: known %v, fetched %v", f.Path, known, fetched[f.Expected])
			}
		}
	})
}

func BenchmarkPlanAndRevision(b *testing.B) {
	files, sums := make([]File, 200), make([]Sum, 200)
	for i := range files {
		object := ObjectID{byte(i)}
		files[i] = File{Path: fmt.Sprintf("linux/gcc48/64bit/file%03d", i), Expected: object.Digest()}
		sums[i] = Sum{Object: object, Path: files[i].Path}
	}
	b.ReportAllocs()
	for b.Loop() {
		NewPlan(files, func(f File) (Object, bool) { return Object{}, f.Path[len(f.Path)-1] == '0' })
		RevisionID(sums)
	}
}
