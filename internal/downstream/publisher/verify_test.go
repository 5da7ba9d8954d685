package publisher

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

func mustVerify(t *testing.T, p *Publisher, req Verify) report.UploadCheck {
	t.Helper()
	done, err := p.Verify(t.Context(), req)
	if err != nil || done.Verification == nil {
		t.Fatalf("%+v, %v", done, err)
	}
	return *done.Verification
}

// spoilt are ways to spoil a bucket with two releases of addr and one of phone.
func spoilt(t *testing.T, s *buckettest.Server, p *Publisher, phone mirror.Record) map[string]func() {
	return map[string]func(){
		"a missing object":                func() { lose(t, s, contentName("two")) },
		"a missing large object":          func() { lose(t, s, contentName(large("x", 40))) },
		"a missing pack":                  func() { lose(t, s, bucket.PacksOf(phone.Files)[0].Name()) },
		"a missing record":                func() { lose(t, s, bucket.EntryOf(phone).Record()) },
		"a missing generation":            func() { lose(t, s, bucket.GenerationName(look(t, s).current.Generation)) },
		"a missing current.json":          func() { lose(t, s, bucket.CurrentName) },
		"other bytes of another size":     func() { s.Put("mirror/"+contentName("two"), []byte("short")) },
		"other bytes, with a checksum":    func() { overwrite(t, p, contentName("two"), "TWO") },
		"other bytes, without a checksum": func() { s.Put("mirror/"+contentName("two"), []byte("TWO")) },
		"another large object":            func() { s.Put("mirror/"+contentName(large("x", 40)), []byte(large("y", 40))) },
		"another record":                  func() { s.Put("mirror/"+bucket.EntryOf(phone).Record(), []byte("{}")) },
		"another generation": func() {
			number := look(t, s).current.Generation
			s.Put("mirror/"+bucket.GenerationName(number), bucket.Generation{Number: number}.Text())
		},
		"everything is missing": func() {
			if err := os.RemoveAll(s.Path("mirror")); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func TestVerificationFindsAndRepairsWhatABucketLost(t *testing.T) {
	server := start(t)
	h := newHost(t)
	p := newPublisher(t, server.Endpoint, h, nil)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one", "b.txt": "two", "big": large("x", 40)})
	phone := h.serve("phone", "2026.10", map[string]string{"p.txt": "three", "q.txt": "four"})
	mustPublish(t, p, Request{})
	if c := mustVerify(t, p, Verify{}); c.Left() != 0 || c.Objects != 5 || c.Records != 2 || c.Generations != 1 || c.BytesRead != 0 {
		t.Errorf("%+v", c)
	}
	if c := mustVerify(t, p, Verify{Read: true}); c.Left() != 0 || c.BytesRead != c.Bytes {
		t.Errorf("%+v", c)
	}
	for name, spoil := range spoilt(t, server, p, phone) {
		t.Run(name, func(t *testing.T) {
			spoil()
			if _, err := os.Stat(server.Path("mirror/" + bucket.CurrentName)); err == nil { // otherwise it is published again
				if done := mustPublish(t, p, Request{}); done.Result != report.UploadUnchanged {
					t.Errorf("%+v", done)
				}
			}
			found := mustVerify(t, p, Verify{})
			if found.Left() != 1 || found.Damage[0].Missing != strings.Contains(name, "missing") || found.Damage[0].Error == "" {
				t.Errorf("found %+v", found)
			}
			// Another process, which knows nothing of it, repairs it.
			p = newPublisher(t, server.Endpoint, h, nil)
			if c := mustVerify(t, p, Verify{Repair: true}); c.Repaired != 1 || c.Left() != 0 || !c.Damage[0].Repaired {
				t.Errorf("repaired %+v", c)
			}
			look(t, server)
			if c := mustVerify(t, p, Verify{Read: true}); len(c.Damage) != 0 {
				t.Errorf("after the repair: %+v", c)
			}
		})
	}
}

// Only a server that keeps checksums notices that its disk has other bytes.
func TestReadingFindsBytesThatTheServerTakesForGood(t *testing.T) {
	server := start(t)
	h := newHost(t)
	p := newPublisher(t, server.Endpoint, h, nil)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one", "big": large("x", 40)})
	mustPublish(t, p, Request{})
	for _, content := range []string{"one", large("x", 40)} {
		path := server.Path("mirror/" + contentName(content))
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt([]byte("X"), int64(len(content)-1)); err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	if c := mustVerify(t, p, Verify{}); c.Left() != 0 {
		t.Errorf("%+v", c)
	}
	if c := mustVerify(t, p, Verify{Read: true}); c.Damaged != 2 || c.Missing != 0 {
		t.Errorf("%+v", c)
	}
	if c := mustVerify(t, p, Verify{Read: true, Repair: true}); c.Repaired != 2 || c.Left() != 0 {
		t.Errorf("%+v", c)
	}
	look(t, server)
}

// Kept generations are verified, too. What this host does not have any more is told.
func TestVerificationTellsWhatCannotBeRepaired(t *testing.T) {
	server := start(t)
	h := newHost(t)
	p := newPublisher(t, server.Endpoint, h, nil)
	old := h.serve("addr", "2026.09", map[string]string{"a.txt": "old", "b.txt": "same"})
	mustPublish(t, p, Request{})
	h.serve("addr", "2026.10", map[string]string{"a.txt": "new", "b.txt": "same"})
	mustPublish(t, p, Request{})
	lose(t, server, contentName("old"))
	lose(t, server, contentName("new"))
	if err := os.Remove(h.path(sum("old"))); err != nil { // pruned
		t.Fatal(err)
	}
	done, err := p.Verify(t.Context(), Verify{Repair: true})
	if err != nil {
		t.Fatal(err)
	}
	c := *done.Verification
	if done.Result != report.UploadDamaged || done.OK() || c.Missing != 2 || c.Repaired != 1 || c.Generations != 2 || c.Objects != 3 {
		t.Fatalf("%+v", c)
	}
	if left := c.Damage[0]; left.Name != contentName("old") || left.Release != "2026.09" || left.Path != "a.txt" || !strings.Contains(left.Error, "this host does not have it") {
		t.Errorf("%+v", left)
	}
	if c := look(t, server); c.files["addr/a.txt"] != "new" {
		t.Errorf("%v", c.files)
	}

	// The record of a kept generation: this host may have the revision on disk.
	lose(t, server, bucket.EntryOf(old).Record())
	p.cfg.Revision = func(_, id string) (mirror.Record, error) { return old, nil }
	if c := mustVerify(t, p, Verify{Repair: true}); c.Repaired != 1 || c.Left() != 1 {
		t.Errorf("%+v", c)
	}

	// After the grace period, no follower reads it.
	age(t, server, 100*time.Hour)
	if c := mustVerify(t, p, Verify{}); c.Left() != 0 || c.Generations != 1 {
		t.Errorf("%+v", c)
	}
}

// Another publisher wrote another text of the same record, and it was lost.
func TestARecordThatCannotBeWrittenAgainIsNamedAnew(t *testing.T) {
	server := start(t)
	a, b := newHost(t), newHost(t)
	record := a.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	record.Source = "https://other.example.net"
	a.show(record)
	b.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	mustPublish(t, newPublisher(t, server.Endpoint, a, nil), Request{})
	q := newPublisher(t, server.Endpoint, b, nil)
	mustPublish(t, q, Request{})
	lose(t, server, bucket.EntryOf(record).Record())
	if c := mustVerify(t, q, Verify{Repair: true}); c.Repaired != 1 || c.Left() != 0 {
		t.Errorf("%+v", c)
	}
	if c := look(t, server); c.current.Generation != 2 {
		t.Errorf("%+v", c.current)
	}
}

// A publisher that is killed during a repair repairs the rest later.
func TestAKillDuringARepairLosesNothing(t *testing.T) {
	server := start(t)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one", "b.txt": "two", "c.txt": "three"})
	mustPublish(t, newPublisher(t, server.Endpoint, h, nil), Request{})
	for i := range 100 { // each round ends one write later
		for _, content := range []string{"one", "two", "three"} {
			if err := os.Remove(server.Path("mirror/" + contentName(content))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		front := buckettest.NewFront(t, server)
		ctx, cancel := context.WithCancel(t.Context())
		writes := make(chan struct{}, i)
		front.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodGet || r.Method == http.MethodHead {
				return false
			}
			select {
			case writes <- struct{}{}:
				return false
			default:
				cancel()
				panic(http.ErrAbortHandler)
			}
		})
		_, err := newPublisher(t, front.Endpoint, h, nil).Verify(ctx, Verify{Repair: true})
		cancel()
		c := mustVerify(t, newPublisher(t, server.Endpoint, h, nil), Verify{Repair: true})
		if c.Left() != 0 {
			t.Errorf("%d: %+v", i, c)
		}
		look(t, server)
		if err == nil {
			return
		}
	}
	t.Error("never repaired")
}

// A host on standby verifies. It repairs nothing, and says so.
func TestAVerificationNeedsNoLease(t *testing.T) {
	server := start(t)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	p := newPublisher(t, server.Endpoint, h, func(c *Config) { c.Lease = 10 * time.Second })
	mustPublish(t, p, Request{})
	lose(t, server, contentName("one"))
	q := newPublisher(t, server.Endpoint, h, func(c *Config) { c.Lease = 10 * time.Second })
	done, err := q.Verify(t.Context(), Verify{Repair: true})
	if err != nil || done.Result != report.Standby || done.OK() || done.Verification.Missing != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if c := mustVerify(t, p, Verify{Repair: true}); c.Repaired != 1 {
		t.Errorf("%+v", c)
	}
	look(t, server)
}

// Deleted by a collection meanwhile, an object is not lost.
func TestWhatNoGenerationNamesAnyMoreIsNotLost(t *testing.T) {
	server := start(t)
	front := buckettest.NewFront(t, server)
	h := newHost(t)
	h.serve("addr", "2026.09", map[string]string{"a.txt": "old"})
	p := newPublisher(t, server.Endpoint, h, nil)
	mustPublish(t, p, Request{})
	h.serve("addr", "2026.10", map[string]string{"a.txt": "new"})
	mustPublish(t, p, Request{})
	front.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodHead && strings.HasSuffix(r.URL.Path, sum("old").String()) {
			age(t, server, 100*time.Hour)
			mustPublish(t, p, Request{Collect: true})
		}
		return false
	})
	if c := mustVerify(t, newPublisher(t, front.Endpoint, h, nil), Verify{}); c.Left() != 0 || c.Objects != 2 {
		t.Errorf("%+v", c)
	}
	if _, err := os.Stat(server.Path("mirror/" + contentName("old"))); err == nil {
		t.Error("nothing was collected")
	}
}
