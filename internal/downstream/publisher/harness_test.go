package publisher

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/minio/minio-go/v7"
	"github.com/rs/zerolog"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/store"
)

// host is a host whose mirror is published.
type host struct {
	t   testing.TB
	dir string

	mu      sync.Mutex // guards what follows
	current mirror.Generation
	known   store.Publisher
}

func (h *host) Publisher() (store.Publisher, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known, nil
}

func (h *host) SetPublisher(known store.Publisher) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known = known
	return nil
}

func newHost(t testing.TB) *host { return &host{t: t, dir: t.TempDir()} }

func (h *host) Dir() string { return h.dir }

func (h *host) Current() mirror.Generation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current
}

func (h *host) path(id manifest.ObjectID) string { return filepath.Join(h.dir, id.String()) }

func (h *host) Open(id manifest.ObjectID) (*os.File, error) { return os.Open(h.path(id)) }

// serve makes the host serve a revision of a manifest.
func (h *host) serve(name string, release manifest.Release, files map[string]string) mirror.Record {
	h.t.Helper()
	record := mirror.Record{Manifest: name, Release: release, Source: "https://releases.example.net", Listed: len(files), MirroredAt: time.Now()}
	var sums []manifest.Sum
	for path, content := range files {
		id := manifest.ObjectID(sha256.Sum256([]byte(content)))
		if err := os.WriteFile(h.path(id), []byte(content), 0o600); err != nil {
			h.t.Fatal(err)
		}
		record.Files = append(record.Files, mirror.File{Path: path, Reference: manifest.Parts{Class: manifest.Data, Release: release, Name: path}.Reference(), Size: int64(len(content)), Object: id})
		record.Bytes += int64(len(content))
		sums = append(sums, manifest.Sum{Object: id, Path: path})
	}
	slices.SortFunc(record.Files, func(a, b mirror.File) int { return strings.Compare(a.Path, b.Path) })
	record.Revision = manifest.RevisionID(sums)
	h.show(record)
	return record
}

func (h *host) show(record mirror.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	records := map[string]mirror.Record{}
	for name, r := range h.current.Records {
		records[name] = r
	}
	records[record.Manifest] = record
	h.current = mirror.Generation{Number: h.current.Number + 1, Records: records}
}

// counts is an Observer.
type counts struct {
	mu       sync.Mutex
	uploaded int64
	results  []string

	collectionFailed bool // the last one
}

func (c *counts) Uploaded(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uploaded += bytes
}

func (c *counts) UploadEnded(result string, _ int, _ time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results = append(c.results, result)
}

func (c *counts) Leads(bool) {}

func (c *counts) CollectionEnded(failed bool, _ time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collectionFailed = failed
}

func (c *counts) Verified(int, time.Time) {}

// newPublisher returns a publisher to an S3 server. change, if set, changes its settings.
func newPublisher(t testing.TB, endpoint string, h *host, change func(*Config)) *Publisher {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Place: objectstore.Place{
			Endpoint: u, Bucket: buckettest.Bucket, Prefix: "mirror/", Region: buckettest.Region, StallTimeout: time.Minute,
			Retry: objectstore.Retry{InitialInterval: 10 * time.Millisecond, MaxInterval: 500 * time.Millisecond, MaxElapsed: 5 * time.Minute},
		},
		Grace: 72 * time.Hour, Mirror: h, Objects: h, Configured: func(string) bool { return true }, Observer: &counts{}, Revision: func(string, string) (mirror.Record, error) { return mirror.Record{}, os.ErrNotExist },
		Memory: h, Keep: func(report.Upload, time.Time) error { return nil }, KeepCollection: func(string, time.Time) error { return nil },
		Log: zerolog.New(zerolog.NewTestWriter(t)), Version: "test", Recheck: 24 * time.Hour,
	}
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// useCredentials gives the tests' credentials to all publishers.
func useCredentials(t testing.TB) {
	t.Setenv("AWS_ACCESS_KEY_ID", buckettest.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", buckettest.SecretKey)
}

func start(t *testing.T) *buckettest.Server {
	t.Helper()
	useCredentials(t)
	return buckettest.New(t)
}

// onEachServer runs a test with a server of each maker.
func onEachServer(t *testing.T, test func(*testing.T, *buckettest.Server)) {
	for _, maker := range buckettest.Makers {
		t.Run(maker, func(t *testing.T) {
			server := buckettest.NewOf(t, maker)
			t.Setenv("AWS_ACCESS_KEY_ID", server.AccessKey)
			t.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretKey)
			test(t, server)
		})
	}
}

// inJob is a context for requests of a test itself.
func inJob(t testing.TB) context.Context {
	ctx, end := objectstore.Within(context.Background(), "a test", limitsOfLook)
	t.Cleanup(end)
	return ctx
}

func mustPublish(t testing.TB, p *Publisher, req Request) report.Upload {
	t.Helper()
	done, err := p.Upload(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// content is what a follower finds in the bucket.
type content struct {
	current    bucket.Current
	generation bucket.Generation
	files      map[string]string // contents by manifest/path
}

// look reads the bucket as a follower does, and requires that it is whole.
func look(t testing.TB, s *buckettest.Server) content {
	t.Helper()
	var c content
	var err error
	if c.current, err = bucket.ParseCurrent(file(t, s, bucket.CurrentName)); err != nil {
		t.Fatal(err)
	}
	text := file(t, s, bucket.GenerationName(c.current.Generation))
	if sha256.Sum256(text) != c.current.SHA256 {
		t.Fatal("the generation is not the one that current.json names")
	}
	if c.generation, err = bucket.ParseGeneration(c.current.Generation, text); err != nil {
		t.Fatal(err)
	}
	c.files = map[string]string{}
	for _, m := range c.generation.Manifests {
		record, err := bucket.ReadRecord(m, bytes.NewReader(file(t, s, m.Record())))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range record.Files {
			data := file(t, s, bucket.ObjectName(f.Object))
			if sha256.Sum256(data) != f.Object {
				t.Fatalf("%s has other bytes in the bucket", f.Path)
			}
			c.files[m.Name+"/"+f.Path] = string(data)
		}
		lookIntoPacks(t, s, m, record)
	}
	return c
}

// lookIntoPacks requires that the packs of a manifest have its small contents.
func lookIntoPacks(t testing.TB, s *buckettest.Server, m bucket.Manifest, r mirror.Record) {
	t.Helper()
	packs := bucket.PacksOf(r.Files)
	if m.Packs != len(packs) {
		t.Errorf("the generation says that %s has %d packs, and not %d", m.Name, m.Packs, len(packs))
	}
	for _, p := range packs {
		contents := unpacked(t, file(t, s, p.Name()))
		for _, c := range p.Contents {
			if sha256.Sum256(contents[:c.Size]) != c.ID {
				t.Fatalf("%s has other bytes in its pack", c.ID)
			}
			contents = contents[c.Size:]
		}
	}
}

// unpacked are the contents of a pack, one after the other.
func unpacked(t testing.TB, text []byte) []byte {
	t.Helper()
	decoder, err := zstd.NewReader(nil)
	must(t, err)
	defer decoder.Close()
	contents, err := decoder.DecodeAll(text, nil)
	must(t, err)
	return contents
}

func file(t testing.TB, s *buckettest.Server, name string) []byte {
	t.Helper()
	object, err := s.Client().GetObject(t.Context(), buckettest.Bucket, "mirror/"+name, minio.GetObjectOptions{})
	must(t, err)
	defer object.Close()
	text, err := io.ReadAll(object)
	must(t, err)
	return text
}

// age makes everything in the bucket older.
func age(t testing.TB, s *buckettest.Server, by time.Duration) {
	t.Helper()
	err := filepath.WalkDir(s.Path("mirror"), func(path string, entry os.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // the server still deletes
			return nil
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			then := info.ModTime().Add(-by)
			err = os.Chtimes(path, then, then)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func sum(content string) manifest.ObjectID { return sha256.Sum256([]byte(content)) }

// large is a content of some MiB that differs with seed.
func large(seed string, mib int) string {
	sum := sha256.Sum256([]byte(seed))
	return strings.Repeat(hex.EncodeToString(sum[:]), mib<<20/64)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
