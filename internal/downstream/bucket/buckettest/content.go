package buckettest

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// Release is what a generation has of a manifest.
type Release struct {
	Manifest string
	Release  manifest.Release
	Files    map[string]string // contents of Data files, by name
	Held     bool
	Metadata string // of each file, as JSON; "" for a publisher that was told none
	Packed   bool   // its small contents can also be had in packs

	MirroredAt time.Time
}

// Publish writes a generation below a prefix, as a publisher does: objects, records,
// generation, current.json.
func (s *Server) Publish(prefix string, number int, releases ...Release) {
	s.t.Helper()
	s.PublishIn(0, prefix, number, releases...)
}

// PublishIn is Publish in an epoch.
func (s *Server) PublishIn(epoch int64, prefix string, number int, releases ...Release) {
	s.t.Helper()
	g := bucket.Generation{Number: number, Epoch: epoch, Publisher: "test", Version: "test", Destruction: s.Destruction}
	Write(g, func(name string, content []byte) { s.Put(prefix+name, content) }, releases...)
}

// Write gives put the texts and objects of a generation with releases.
func Write(g bucket.Generation, put func(name string, content []byte), releases ...Release) {
	for _, r := range releases {
		g.Manifests = append(g.Manifests, writeRelease(put, r))
	}
	text := g.Text()
	put(bucket.GenerationName(g.Number), text)
	put(bucket.CurrentName, bucket.Current{Generation: g.Number, SHA256: sha256.Sum256(text), Epoch: g.Epoch, Publisher: g.Publisher}.Text())
}

func writeRelease(put func(name string, content []byte), r Release) bucket.Manifest {
	revision := record.Record{Manifest: r.Manifest, Release: r.Release, Source: "https://releases.example.net", Listed: len(r.Files)}
	var sums []manifest.Sum
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		content := []byte(r.Files[name])
		f := record.File{Path: name, Reference: manifest.Parts{Class: manifest.Data, Release: r.Release, Name: name}.Reference(), Size: int64(len(content)), Object: sha256.Sum256(content)}
		put(bucket.ObjectName(f.Object), content)
		revision.Files, revision.Bytes = append(revision.Files, f), revision.Bytes+f.Size
		sums = append(sums, manifest.Sum{Object: f.Object, Path: f.Path})
	}
	revision.Revision = manifest.RevisionID(sums)
	var text bytes.Buffer
	_ = bucket.WriteRecord(&text, revision) // a buffer takes everything
	m := bucket.ManifestOf(revision)
	described := withMetadata(text.Bytes(), r.Metadata)
	put(m.Record(), described)
	m.Held, m.Described, m.RecordSHA256, m.MirroredAt = r.Held, r.Metadata != "", sha256.Sum256(described), r.MirroredAt
	if r.Packed {
		m.Packs = writePacks(put, r, revision.Files)
	}
	return m
}

// writePacks returns how many packs it wrote.
func writePacks(put func(name string, content []byte), r Release, files []record.File) int {
	packs, contents := bucket.PacksOf(files), map[manifest.ObjectID]string{}
	for _, f := range files {
		contents[f.Object] = r.Files[f.Path]
	}
	for _, p := range packs {
		var all []byte
		for _, c := range p.Contents {
			all = append(all, contents[c.ID]...)
		}
		put(p.Name(), Compressed(all))
	}
	return len(packs)
}

// Compressed is the zstd of a content.
func Compressed(content []byte) []byte {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err) // only for options that do not go together
	}
	return encoder.EncodeAll(content, nil)
}

// withMetadata adds metadata to each file of a record. It can be of another form than
// syncd's own.
func withMetadata(text []byte, metadata string) []byte {
	if metadata == "" {
		return text
	}
	return bytes.ReplaceAll(text, []byte(`"}`), []byte(`","metadata":`+metadata+"}"))
}

// Put writes an object.
func (s *Server) Put(name string, content []byte) {
	s.t.Helper()
	if _, err := s.Client().PutObject(s.t.Context(), Bucket, name, bytes.NewReader(content), int64(len(content)), minio.PutObjectOptions{DisableContentSha256: true}); err != nil {
		s.t.Fatalf("put %s: %v", name, err)
	}
}

// Remove removes an object.
func (s *Server) Remove(name string) {
	s.t.Helper()
	if err := s.Client().RemoveObject(s.t.Context(), Bucket, name, minio.RemoveObjectOptions{}); err != nil {
		s.t.Fatalf("remove %s: %v", name, err)
	}
}

// Client returns a client of the server.
func (s *Server) Client() *minio.Client {
	s.t.Helper()
	endpoint, err := url.Parse(s.Endpoint)
	if err != nil {
		s.t.Fatal(err)
	}
	client, err := minio.New(endpoint.Host, &minio.Options{Creds: credentials.NewStaticV4(s.AccessKey, s.SecretKey, ""), Region: Region, Transport: &s.wire})
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}
