package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest/refusal"
)

var limits = []int64{0, MinVolume, 16<<10 + 1, 1 << 20}

func TestABundleIsReadAsItWasWritten(t *testing.T) {
	g, members := sample(t, 7, two()...)
	for _, limit := range append(limits, limits...) {
		volumes := written(t, members, limit)
		if limit == MinVolume && len(volumes) < 3 {
			t.Errorf("%d volumes of %d bytes", len(volumes), limit)
		}
		files := filesOf(volumes)
		slices.Reverse(files) // any order
		for _, how := range []Reading{Texts, Whole} {
			b, err := Open(t.Context(), files, how)
			if err != nil {
				t.Fatalf("limit %d: %v", limit, err)
			}
			if b.Generation.Number != g.Number || len(b.Volumes) != len(volumes) || !b.HasRecord(g.Manifests[1]) {
				t.Errorf("limit %d: %+v", limit, b)
			}
			for _, m := range members {
				if text := get(t, b, m.Name, ""); sha256.Sum256(text) != m.SHA256 {
					t.Errorf("limit %d: %s has %d bytes of %d", limit, m.Name, len(text), m.Size)
				}
			}
		}
		for _, v := range volumes {
			if limit > 0 && int64(len(v)) > limit {
				t.Errorf("a volume of %d bytes, at most %d are allowed", len(v), limit)
			}
		}
		if limit == limits[len(limits)-1] {
			members = patched(g, members)
		}
	}
}

// get asks the bundle as a follower does.
func get(t *testing.T, b *Bundle, name, byteRange string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, Base().JoinPath(strings.Split(name, "/")...).String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := http.StatusOK
	if byteRange != "" {
		req.Header.Set("Range", byteRange)
		want = http.StatusPartialContent
	}
	res, err := b.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != want || int64(len(data)) != res.ContentLength {
		t.Errorf("%s: %s, %d bytes of %d, %v", name, res.Status, len(data), res.ContentLength, err)
	}
	return data
}

func TestSameInputGivesSameBytes(t *testing.T) {
	for _, limit := range limits {
		_, members := sample(t, 7, two()...)
		first := written(t, members, limit)
		_, members = sample(t, 7, two()...)
		if !slices.EqualFunc(first, written(t, members, limit), bytes.Equal) {
			t.Errorf("limit %d: other bytes", limit)
		}
	}
}

// The program tar lists and checks each volume, and contents that are not cut lie in it as
// they are.
func TestTarReadsEachVolume(t *testing.T) {
	_, members := sample(t, 7, two()...)
	for _, limit := range limits {
		for _, v := range written(t, members, limit) {
			for r := tar.NewReader(bytes.NewReader(v)); ; {
				if _, err := r.Next(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := exec.LookPath("tar"); err != nil {
				continue
			}
			list := exec.CommandContext(t.Context(), "tar", "-tf", "-")
			list.Stdin = bytes.NewReader(v)
			if out, err := list.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), headName+"\n") {
				t.Errorf("tar: %v\n%s", err, out)
			}
		}
	}
}

func TestRangesOfAContentThatIsCut(t *testing.T) {
	_, members := sample(t, 7, two()...)
	b, err := Open(t.Context(), filesOf(written(t, members, MinVolume)), Whole)
	if err != nil {
		t.Fatal(err)
	}
	name := bucket.ObjectName(sha256.Sum256([]byte(strings.Repeat("g", 20_000))))
	if at, found := b.find(name); !found || len(at) < 3 {
		t.Fatalf("%s has %d parts", name, len(at))
	}
	for byteRange, want := range map[string]int{"bytes=0-": 20_000, "bytes=19999-": 1, "bytes=7000-16999": 10_000, "bytes=0-0": 1, "bytes=5-99999": 19_995} {
		if got := get(t, b, name, byteRange); string(got) != strings.Repeat("g", want) {
			t.Errorf("%s: %d bytes, want %d", byteRange, len(got), want)
		}
	}
	for byteRange, want := range map[string]int{"bytes=20000-": 416, "bytes=-5": 200, "bytes=5-2": 200, "items=1-2": 200, "bytes=x-": 200} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, Base().String()+name, nil)
		req.Header.Set("Range", byteRange)
		res, err := b.RoundTrip(req)
		if err != nil || res.StatusCode != want {
			t.Errorf("%s: %v, %v", byteRange, res.Status, err)
		}
		res.Body.Close()
	}
}

// Each byte of each volume is one that the reader checks. CI tries each eleventh.
func TestEachFlippedByteIsRefused(t *testing.T) {
	g, members := sample(t, 7, release{"dq_one", map[string]string{"a": "1", "b": strings.Repeat("b", 6_000), "c": strings.Repeat("c", 4_000)}})
	volumes := written(t, patched(g, members), MinVolume)
	if len(volumes) < 2 {
		t.Fatal("one volume only")
	}
	step := 11
	if os.Getenv("SYNCD_TORTURE") == "full" {
		step = 1
	}
	for i, v := range volumes {
		for at := i; at < len(v); at += step {
			spoiled := slices.Clone(volumes)
			spoiled[i] = slices.Clone(v)
			spoiled[i][at] ^= 1
			if _, err := Open(t.Context(), filesOf(spoiled), Whole); refusal.ReasonOf(err) == "" || !strings.Contains(err.Error(), "bundle.00") {
				t.Fatalf("byte %d of volume %d: %v", at, i+1, err)
			}
		}
	}
}

func TestEachCutVolumeIsRefused(t *testing.T) {
	g, members := sample(t, 7, two()...)
	volumes := written(t, patched(g, members), 16<<10)
	for i, v := range volumes {
		for at := 0; at < len(v); at += 97 {
			spoiled := slices.Clone(volumes)
			spoiled[i] = v[:at]
			if _, err := Open(t.Context(), filesOf(spoiled), Texts); refusal.ReasonOf(err) == "" || !strings.Contains(err.Error(), VolumeName("bundle", i+1)) {
				t.Fatalf("volume %d cut at %d: %v", i+1, at, err)
			}
		}
		spoiled := slices.Clone(volumes)
		spoiled[i] = append(slices.Clone(v), 0)
		if _, err := Open(t.Context(), filesOf(spoiled), Texts); refusal.ReasonOf(err) == "" {
			t.Errorf("volume %d with a byte more was read", i+1)
		}
	}
}

func TestWrongVolumesAreRefusedByName(t *testing.T) {
	_, members := sample(t, 7, two()...)
	volumes := written(t, members, MinVolume)
	_, members = sample(t, 8, two()...)
	other := written(t, members, MinVolume)
	good := filesOf(volumes)
	named := func(f File, name string) File { f.Name = name; return f }
	for name, row := range map[string]struct {
		files []File
		want  string
	}{
		"missing first":  {good[1:], "volume 1 of"},
		"missing middle": {slices.Concat(good[:1], good[2:]), "volume 2 of"},
		"missing last":   {good[:len(good)-1], "is missing"},
		"twice":          {slices.Concat(good, []File{named(good[0], "copy.001")}), "copy.001: it is volume 1 of"},
		"of another":     {slices.Concat(good[:1], []File{named(filesOf(other)[1], "other.002")}, good[2:]), "other.002: it belongs to another bundle than bundle.001"},
		"swapped bytes":  {slices.Concat(good[:1], []File{named(good[2], good[1].Name)}, good[2:]), "it is volume 3 of"},
		"no bundle":      {[]File{{"notes.tar", 4000, bytes.NewReader(make([]byte, 4000))}}, "notes.tar: not a bundle"},
		"empty":          {[]File{{"empty.tar", 0, bytes.NewReader(nil)}}, "empty.tar: not a bundle"},
		"none":           {nil, "no file"},
	} {
		if _, err := Open(t.Context(), row.files, Whole); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A volume that is swapped with one of another cut of the same members is refused, too.
func TestVolumesOfAnotherSizeBelongToAnotherBundle(t *testing.T) {
	_, members := sample(t, 7, two()...)
	small, large := filesOf(written(t, members, MinVolume)), filesOf(written(t, members, 16<<10))
	if _, err := Open(t.Context(), slices.Concat(large[:1], small[1:]), Texts); err == nil || !strings.Contains(err.Error(), "another bundle") {
		t.Error(err)
	}
}

func TestAMemberThatChangedMeanwhileIsNotWritten(t *testing.T) {
	for name, text := range map[string]string{"other bytes": "bb", "cut": "a", "empty": ""} {
		_, members := sample(t, 7, release{"dq_one", map[string]string{"a": "aa"}})
		members[len(members)-1].Open = memberOf("", text).Open
		p, err := NewPlan(members, Layout{Generation: 7})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Write(t.Context(), func(_ int, write func(io.Writer) error) error { return write(io.Discard) }); !errors.Is(err, errChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenFilesTakesRegularFilesOnly(t *testing.T) {
	for _, path := range []string{t.TempDir(), "/dev/null", filepath.Join(t.TempDir(), "missing")} {
		if _, _, err := OpenFiles([]string{path}); err == nil {
			t.Errorf("%s was opened", path)
		}
	}
}
