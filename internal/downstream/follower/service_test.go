package follower_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/follower"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// publishRecords writes a generation of manifests with many files, but without their objects.
func (w *world) publishRecords(manifests, files int) {
	w.Helper()
	g := bucket.Generation{Number: 1, Publisher: "test", Version: "test"}
	for i := range manifests {
		r := record.Record{Manifest: fmt.Sprint("m", i), Release: "2026.10", Source: "https://releases.example.net", Listed: files}
		var sums []manifest.Sum
		for j := range files {
			name := fmt.Sprintf("%d-%06d.txt", i, j)
			f := record.File{Path: name, Reference: manifest.Parts{Class: manifest.Data, Release: r.Release, Name: name}.Reference(), Size: 1, Object: sha256.Sum256([]byte(name))}
			r.Files, r.Bytes, sums = append(r.Files, f), r.Bytes+1, append(sums, manifest.Sum{Object: f.Object, Path: f.Path})
		}
		r.Revision = manifest.RevisionID(sums)
		var text bytes.Buffer
		if err := bucket.WriteRecord(&text, r); err != nil {
			w.Fatal(err)
		}
		w.server.Put(prefix+bucket.ManifestOf(r).Record(), text.Bytes())
		g.Manifests = append(g.Manifests, bucket.ManifestOf(r))
	}
	w.server.Put(prefix+bucket.GenerationName(1), g.Text())
	w.server.Put(prefix+bucket.CurrentName, bucket.Current{Generation: 1, SHA256: sha256.Sum256(g.Text()), Publisher: "test"}.Text())
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestServiceKeepsOnlyTheFilesThatAreAskedFor(t *testing.T) {
	w := start(t)
	w.publishRecords(9, 10_000)
	service := follower.NewService(w.client)
	refs := []manifest.Reference{"Data/2026.10/0-000007.txt", "Data/latest/8-009999.txt", "Data/2026.10/none.txt"}
	before := heap()
	service.Expect(refs)
	for i, ref := range refs {
		meta, err := service.Metadata(t.Context(), ref)
		if isThere := i < 2; (err == nil) != isThere || isThere && (meta.FileName != ref.Name() || meta.Release != "2026.10") {
			t.Errorf("%s: %+v, %v", ref, meta, err)
		}
	}
	if n := strings.Count(w.asked(), bucket.Records); n != 9 {
		t.Errorf("%d records were read, want each of 9 once", n)
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("%d KiB are kept for two files", grown>>10)
	}
	if _, err := service.Hash(t.Context(), manifest.SHA256, "Data/2026.10/3-000001.txt"); err != nil { // it was not expected
		t.Error(err)
	}
	runtime.KeepAlive(service)
}
