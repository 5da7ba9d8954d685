package bundle

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// release is a manifest of a bundle of tests: the contents by path, in the order of the paths.
type release struct {
	name  string
	files map[string]string
}

// sample returns a generation of releases and its members.
func sample(t testing.TB, number int, releases ...release) (bucket.Generation, []Member) {
	t.Helper()
	g := bucket.Generation{Number: number, Publisher: "host-1", PublishedAt: time.Unix(1_790_000_000, 0).UTC(), Version: "test"}
	var records, contents []Member
	seen := map[manifest.ObjectID]bool{}
	for _, of := range releases {
		r := record.Record{Manifest: of.name, Release: "2026.10", Source: "https://releases.example.net", Listed: len(of.files)}
		var sums []manifest.Sum
		for _, path := range sorted(of.files) {
			text := of.files[path]
			f := record.File{Path: path, Reference: manifest.Parts{Class: manifest.Data, Release: r.Release, Name: path}.Reference(), Size: int64(len(text)), Object: sha256.Sum256([]byte(text))}
			r.Files, r.Bytes, sums = append(r.Files, f), r.Bytes+f.Size, append(sums, manifest.Sum{Object: f.Object, Path: f.Path})
			if !seen[f.Object] {
				seen[f.Object], contents = true, append(contents, memberOf(bucket.ObjectName(f.Object), text))
			}
		}
		r.Revision = manifest.RevisionID(sums)
		var text bytes.Buffer
		if err := bucket.WriteRecord(&text, r); err != nil {
			t.Fatal(err)
		}
		m := bucket.ManifestOf(r)
		m.RecordSHA256 = sha256.Sum256(text.Bytes())
		g.Manifests, records = append(g.Manifests, m), append(records, memberOf(m.Record(), text.String()))
	}
	current := bucket.Current{Generation: number, SHA256: sha256.Sum256(g.Text()), Publisher: g.Publisher, PublishedAt: g.PublishedAt}
	texts := []Member{memberOf(bucket.CurrentName, string(current.Text())), memberOf(bucket.GenerationName(number), string(g.Text()))}
	return g, slices.Concat(texts, records, contents)
}

// patched returns members of which the large contents come as patches.
func patched(g bucket.Generation, members []Member) (with []Member) {
	of := g.Manifests[0]
	var list []bucket.Patch
	at := len(members)
	for i, m := range members {
		id, isContent := bucket.ParseObjectName(m.Name)
		if isContent {
			at = min(at, i)
		}
		if !isContent || m.Size < 5_000 {
			with = append(with, m)
			continue
		}
		patch := memberOf(bucket.PatchName(bucket.Empty, id), strings.Repeat("p", int(m.Size/2)))
		list, with = append(list, bucket.Patch{Old: bucket.Empty, New: id, Size: patch.Size, SHA256: patch.SHA256}), append(with, patch)
	}
	text := bucket.NewPatchList(list, func(manifest.ObjectID) int64 { return 0 }).Text()
	return slices.Insert(with, at, memberOf(bucket.PatchListName(of), string(text)))
}

func sorted(files map[string]string) []string {
	var paths []string
	for path := range files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

func memberOf(name, text string) Member {
	return Member{Name: name, Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

// two returns releases with files of all sizes around the limits of blocks and volumes.
func two() []release {
	files := map[string]string{"shared.txt": "in both", "empty.txt": ""}
	for i, size := range []int{1, 511, 512, 513, 5_000, 8 << 10, 20_000} {
		files[fmt.Sprintf("f%d.bin", i)] = strings.Repeat(string(rune('a'+i)), size)
	}
	return []release{{"dq_one", files}, {"dq_two", map[string]string{"shared.txt": "in both", "with a space é.txt": "x"}}}
}

// written returns the volumes of a bundle.
func written(t testing.TB, members []Member, limit int64) (volumes [][]byte) {
	t.Helper()
	p, err := NewPlan(members, Layout{Generation: numberOf(members), Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	err = p.Write(t.Context(), func(n int, write func(io.Writer) error) error {
		var b bytes.Buffer
		if n != len(volumes)+1 {
			t.Errorf("volume %d comes after %d", n, len(volumes))
		}
		err := write(&b)
		volumes = append(volumes, b.Bytes())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return volumes
}

// filesOf are volumes as files that syncd reads.
func filesOf(volumes [][]byte) (files []File) {
	for i, v := range volumes {
		files = append(files, File{VolumeName("bundle", i+1), int64(len(v)), bytes.NewReader(v)})
	}
	return files
}

// numberOf is the number of the generation among members.
func numberOf(members []Member) int {
	number, _ := bucket.ParseGenerationName(members[1].Name)
	return number
}
