package bucket

import (
	"crypto/sha256"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

func TestNamesOfPatchesAndPacksAreReadAsTheyAreWritten(t *testing.T) {
	name := PatchName(id(1), id(2))
	if before, after, ok := ParsePatchName(name); !ok || before != id(1) || after != id(2) {
		t.Errorf("%s: %s, %s, %v", name, before, after, ok)
	}
	if got, ok := ParsePackName(PackName(id(3))); !ok || got != id(3) {
		t.Errorf("%s: %s, %v", PackName(id(3)), got, ok)
	}
	m := ManifestOf(sampleRecord())
	list := PatchListName(m)
	if record, ok := PatchListRecord(list); !ok || record != m.Record() || list != "patches/dq_addr_data/2026.10-"+m.Revision+".json" {
		t.Errorf("%s: %s, %v", list, record, ok)
	}
	for _, foreign := range []string{"", "patches/", name + "-", strings.ToUpper(name), "x/" + name, "patches/a/" + name[len(Patches):], "packs/00/" + id(3).String(), list} {
		_, _, isPatch := ParsePatchName(foreign)
		_, isPack := ParsePackName(foreign)
		if isPatch || isPack {
			t.Errorf("%q is taken for a patch or a pack", foreign)
		}
	}
	if _, ok := PatchListRecord(name); ok {
		t.Error("a patch is taken for a list of patches")
	}
}

func TestAListOfPatchesIsSortedAndBounded(t *testing.T) {
	size := func(id manifest.ObjectID) int64 { return int64(id[1])<<8 + int64(id[2]) }
	var patches []Patch
	for i := range MaxPatches + 10 {
		patches = append(patches, Patch{Old: Empty, New: manifest.ObjectID{0: 1, 1: byte(i >> 8), 2: byte(i)}, Size: 1 << 33})
	}
	list := NewPatchList(append(patches, patches[MaxPatches-1]), size)
	got, err := ParsePatchList("list", list.Text())
	if diff := cmp.Diff(list, got); err != nil || diff != "" || len(list.Patches) != MaxPatches-1 {
		t.Errorf("%d patches: %v %.500s", len(list.Patches), err, diff)
	}
	if slices.ContainsFunc(list.Patches, func(p Patch) bool { return size(p.New) < 10 }) {
		t.Error("the smallest contents stayed")
	}
	if _, err := ParsePatchList("list", NewPatchList(nil, size).Text()); err != nil {
		t.Error(err)
	}
}

func TestHarmfulListsOfPatchesAreRefused(t *testing.T) {
	good := Patch{Old: id(1), New: id(2), Size: 9}
	for name, patches := range map[string][]Patch{
		"no bytes":    {{Old: id(1), New: id(2)}},
		"negative":    {{Old: id(1), New: id(2), Size: -1}},
		"no old":      {{New: id(2), Size: 9}},
		"no new":      {{Old: id(1), Size: 9}},
		"to itself":   {{Old: id(1), New: id(1), Size: 9}},
		"to nothing":  {{Old: id(1), New: Empty, Size: 9}},
		"named twice": {good, good},
		"not sorted":  {{Old: id(1), New: id(3), Size: 9}, good},
	} {
		if l, err := ParsePatchList("list", PatchList{Patches: patches}.Text()); err == nil || l.Patches != nil {
			t.Errorf("%s: %v", name, l)
		}
	}
}

// small are files of so many bytes each, with as many contents.
func small(files int, size int64) (all []record.File) {
	for i := range files {
		all = append(all, record.File{Size: size, Object: sha256.Sum256([]byte{byte(i >> 8), byte(i)})})
	}
	return all
}

func TestPacksHaveEachSmallContentOnce(t *testing.T) {
	files := small(5000, 4096)
	files = append(files, files[7], record.File{Size: PackedBelow, Object: id(1)}, record.File{Object: Empty})
	packs := PacksOf(files)
	var contents []Content
	for _, p := range packs {
		if len(p.Contents) < 2 || p.Size() > MaxPack || p.ID.IsZero() {
			t.Errorf("a pack of %d contents with %d bytes", len(p.Contents), p.Size())
		}
		contents = append(contents, p.Contents...)
	}
	if len(contents) < 4990 || len(contents) > 5000 || len(packs) < 3 || len(packs) > 12 {
		t.Errorf("%d packs of %d contents", len(packs), len(contents))
	}
	if diff := cmp.Diff(packs, PacksOf(files)); diff != "" {
		t.Error(diff)
	}
	if got := PacksOf(files[:1]); got != nil {
		t.Errorf("a single content is packed: %v", got)
	}
}

func TestAChangedContentChangesFewPacks(t *testing.T) {
	files := small(20_000, 4096)
	before := map[manifest.ObjectID]bool{}
	for _, p := range PacksOf(files) {
		before[p.ID] = true
	}
	files[50].Object, files[50].Size = id(99), 5000
	news := 0
	for _, p := range PacksOf(files) {
		if !before[p.ID] {
			news++
		}
	}
	if news > 4 {
		t.Errorf("%d of %d packs changed with one content", news, len(before))
	}
}
