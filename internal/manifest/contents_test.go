package manifest

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestATableIsAMapOfTheContentsOfFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digest := rapid.Custom(func(t *rapid.T) Digest {
			d := Digest{Algorithm: rapid.SampledFrom([]Algorithm{SHA256, SHA1, MD5}).Draw(t, "algorithm")}
			d.Sum[0], d.Sum[15] = rapid.Byte().Draw(t, "first"), byte(rapid.IntRange(0, 3).Draw(t, "last"))
			return d
		})
		var files []File
		first := map[Digest]*File{}
		for _, d := range rapid.SliceOf(digest).Draw(t, "digests") {
			files = append(files, File{Expected: d})
		}
		for i := range slices.Backward(files) {
			first[files[i].Expected] = &files[i]
		}
		contents := ContentsOf(files)
		if contents.Len() != len(first) {
			t.Fatalf("%d contents, want %d", contents.Len(), len(first))
		}
		for d, file := range first {
			if number, found := contents.Find(d); !found || contents.File(number) != file {
				t.Fatalf("%s is not found, or with another file than its first", d)
			}
		}
		table, want := NewTable[int](contents), map[Digest]int{}
		for i, d := range rapid.SliceOf(digest).Draw(t, "more digests") {
			if table.Put(d, i); first[d] != nil {
				want[d] = i
			}
			if value, found := table.Get(d); found != (first[d] != nil) || value != want[d] {
				t.Fatalf("%s has %d, %v", d, value, found)
			}
		}
		for i := range files {
			table.Put(files[i].Expected, i)
			want[files[i].Expected] = i
		}
		if got := maps.Collect(table.All()); table.Len() != len(want) || !maps.Equal(got, want) {
			t.Fatalf("the table is %v of %d, want %v", got, table.Len(), want)
		}
	})
}

func TestANilTableIsEmpty(t *testing.T) {
	var table *Table[int]
	if _, found := table.Get(Digest{}); found || table.Len() != 0 || len(maps.Collect(table.All())) != 0 {
		t.Error("it has a value")
	}
}
