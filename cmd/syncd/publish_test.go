package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/emulator"
	"syncd/internal/report"
)

// publisherHost is a host that publishes what it mirrors to a real S3 server.
type publisherHost struct {
	*host
	store *buckettest.Server
	front *buckettest.Front // of this host alone, before store
}

func newPublisher(t *testing.T, manifests ...string) *publisherHost {
	t.Helper()
	return publisherOf(newHost(t, manifests...).withRace(), buckettest.New(t))
}

func publisherOf(h *host, store *buckettest.Server) *publisherHost {
	p := &publisherHost{host: h, store: store, front: buckettest.NewFront(h.T, store)}
	p.environ = append(p.environ, "AWS_ACCESS_KEY_ID="+buckettest.AccessKey, "AWS_SECRET_ACCESS_KEY="+buckettest.SecretKey)
	p.publishWith("")
	p.Cleanup(p.bucketHasNoSecret)
	return p
}

// publishWith configures publish with further keys of the file.
func (p *publisherHost) publishWith(more string) {
	p.settings.more = fmt.Sprintf("publish: {s3: {endpoint: %q, bucket: %s, prefix: mirror/, region: %s}}\n%s", p.front.Endpoint, buckettest.Bucket, buckettest.Region, more)
	p.configure()
}

// bucketHasNoSecret expects no Customer ID and no key in the bucket.
func (p *publisherHost) bucketHasNoSecret() {
	p.must(filepath.WalkDir(p.store.Path(""), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, secret := range []string{customerID, buckettest.SecretKey} {
			if strings.Contains(string(content), secret) {
				p.Errorf("a secret is in %s", path)
			}
		}
		return err
	}))
}

// follower is a host that follows the bucket.
func (p *publisherHost) follower() *followerHost {
	p.Helper()
	return (&followerHost{host: newHostOf(p.T, p.provider, p.settings.manifests...), store: p.store, front: buckettest.NewFront(p.T, p.store)}).follow()
}

func (p *publisherHost) inBucket() bucket.Current {
	p.Helper()
	text, err := os.ReadFile(p.store.Path("mirror/" + bucket.CurrentName))
	p.must(err)
	current, err := bucket.ParseCurrent(text)
	p.must(err)
	return current
}

func (p *publisherHost) lease() bucket.Lease {
	text, err := os.ReadFile(p.store.Path("mirror/" + bucket.LeaseName))
	if err != nil {
		p.Error(err)
	}
	lease, err := bucket.ParseLease(text)
	if err != nil {
		p.Error(err)
	}
	return lease
}

func (p *publisherHost) publication(code int, args ...string) *report.Upload {
	p.Helper()
	var result report.Sync
	p.must(json.Unmarshal([]byte(p.expect(code, append([]string{"sync", "--json"}, args...)...).stdout), &result))
	if result.Upload == nil {
		p.Fatal("no publication in the result")
	}
	return result.Upload
}

func TestASyncPublishesBeforeItEnds(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	p.provider.SetManifest("m", "2026.09", emulator.File{Name: "m.dat", Content: emulator.Text("september")})
	f := p.follower()
	same(p.host, "result", report.Uploaded, p.publication(0).Result)
	f.sync(0)
	same(f.host, "content", "september", f.servedContent("m"))

	p.provider.SetManifest("m", "2026.10", emulator.File{Name: "m.dat", Content: emulator.Text("october")})
	p.front.Answer(buckettest.SlowDown)
	failed := p.publication(1)
	p.contains("error", failed.Error, "reduce your request rate")
	same(p.host, "content here", "october", p.servedContent("m"))
	f.sync(0)
	same(f.host, "content there", "september", f.servedContent("m"))
	p.contains("error", p.expect(1, "publish").stderr, "reduce your request rate")

	p.front.Answer(nil)
	p.contains("dry run", p.expect(0, "publish", "--dry-run").stdout, "would upload 1 objects (7 B)")
	p.contains("published", p.expect(0, "publish", "--gc").stdout, "published generation 2", "deleted 0 objects")
	f.sync(0)
	same(f.host, "content there", "october", f.servedContent("m"))

	p.expect(0, "rollback")
	same(p.host, "generation", 3, p.inBucket().Generation)
	f.sync(0)
	same(f.host, "content there", "september", f.servedContent("m"))
}

func TestPublishNeedsAPlaceAndCredentials(t *testing.T) {
	t.Parallel()
	h := newHost(t).withRace()
	h.contains("error", h.expect(2, "publish").stderr, "publish.s3")
	p := newPublisher(t, "m")
	p.provider.SetManifest("m", "2026.10", emulator.File{Name: "m.dat", Content: emulator.Text("x")})
	p.environ = append(p.environ, "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=", "AWS_EC2_METADATA_DISABLED=true", "HOME="+p.dir)
	p.contains("error", p.publication(1).Error, "AWS_ACCESS_KEY_ID", "~/.aws/credentials")
	p.must(os.Mkdir(p.path(".aws"), 0o700))
	p.write(".aws/credentials", fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", buckettest.AccessKey, buckettest.SecretKey), 0o600)
	same(p.host, "result", report.Uploaded, p.publication(0).Result)
	p.must(os.RemoveAll(p.path(".aws"))) // it holds the key
}

func TestAKilledPublisherContinuesItsUpload(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	content := strings.Repeat("0123456789abcdef", 6<<20) // six parts
	p.provider.SetManifest("m", "2026.10", emulator.File{Name: "m.dat", Content: emulator.Text(content)})
	var parts atomic.Int64
	third := make(chan struct{})
	end := make(chan struct{})
	var once sync.Once
	p.front.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("partNumber") && parts.Add(1) > 2 {
			once.Do(func() { close(third) })
			<-end
			panic(http.ErrAbortHandler)
		}
		return false
	})
	running := p.start("sync")
	p.within("the third part", third)
	p.eventually("two parts in the bucket", func() bool { return p.storedParts() >= 2 })
	running.signal(syscall.SIGKILL)
	running.wait()
	close(end)
	var again atomic.Int64
	p.front.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("partNumber") {
			again.Add(1)
		}
		return false
	})
	same(p.host, "result", report.Uploaded, p.publication(0).Result)
	same(p.host, "parts that were sent again", 4, int(again.Load()))
	f := p.follower()
	f.sync(0)
	same(f.host, "digest", f.digest(strings.NewReader(content)), f.published("m")["m.dat"])
}

// storedParts counts the parts that the server has.
func (p *publisherHost) storedParts() (count int) {
	_ = filepath.WalkDir(filepath.Dir(p.store.Path("")), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.Contains(path, "multipart") {
			if info, err := entry.Info(); err == nil && info.Size() == 16<<20 {
				count++
			}
		}
		return nil
	})
	return count
}

// A publisher that was stopped past its lease and then woken writes nothing more.
func TestAStoppedPublisherWritesNothingOnceItsLeaseIsOver(t *testing.T) {
	t.Parallel()
	a := newPublisher(t, "m")
	b := publisherOf(newHostOf(t, a.provider, "m"), a.store)
	a.publishWith("election: {lease: 10s}")
	b.publishWith("election: {lease: 10s}")
	a.provider.SetManifest("m", "2026.09", emulator.File{Name: "m.dat", Content: emulator.Text("september")})
	leader := a.daemon()
	a.eventually("the first generation", func() bool {
		_, err := os.Stat(a.store.Path("mirror/" + bucket.CurrentName))
		return err == nil
	})
	former := a.lease().Holder
	other := b.daemon()
	b.eventually("the second publisher looks", func() bool { return len(b.front.Requests()) > 0 })

	// The leader is stopped in the middle of an upload.
	a.provider.SetManifest("m", "2026.10", emulator.File{Name: "m.dat", Content: emulator.Text(strings.Repeat("0123456789abcdef", 6<<20))})
	part, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	a.front.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("partNumber") {
			once.Do(func() { close(part) })
			<-goOn
		}
		return false
	})
	leader.signal(syscall.SIGUSR1)
	a.within("a part", part)
	leader.signal(syscall.SIGSTOP)
	other.signal(syscall.SIGUSR1)
	b.eventually("the other publisher leads", func() bool { c := a.inBucket(); return c.Fence >= 2 && c.Generation >= 2 })
	after := a.inBucket()
	a.front.Requests()
	var wrote atomic.Value
	a.front.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if !reads && a.lease().Holder != former { // on a very busy machine, it can get the lease again
			wrote.Store(r.Method + " " + r.URL.Path)
		}
		return false
	})
	leader.signal(syscall.SIGCONT)
	close(goOn)
	a.eventually("the woken publisher looks at the lease", func() bool {
		for _, r := range a.front.Requests() {
			if r.Method == http.MethodGet && strings.HasSuffix(r.Name, bucket.LeaseName) {
				return true
			}
		}
		return false
	})
	leader.signal(syscall.SIGUSR1)
	leader.logged("sync")
	if what := wrote.Load(); what != nil {
		t.Errorf("the woken publisher wrote: %v", what)
	}
	if now := a.inBucket(); now.Fence < after.Fence || now.Generation < after.Generation {
		t.Errorf("from %+v back to %+v", after, now)
	}
	leader.terminate()
	other.terminate()
}

// A reload publishes to another place from then on, and gives the lease of the former back.
func TestAReloadChangesWhereADaemonPublishes(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	p.publishWith("election: {lease: 1h}")
	p.provider.SetManifest("m", "2026.10", emulator.File{Name: "m.dat", Content: emulator.Text("x")})
	daemon := p.daemon()
	p.eventually("the first place", func() bool {
		_, err := os.Stat(p.store.Path("mirror/" + bucket.CurrentName))
		return err == nil
	})
	daemon.logged("sync")
	p.settings.more = strings.Replace(p.settings.more, "mirror/", "other/", 1)
	p.configure()
	daemon.signal(syscall.SIGHUP)
	daemon.logged("configuration reloaded")
	same(p.host, "holder of the first lease", "", p.lease().Holder)
	same(p.host, "result", report.Uploaded, p.publication(0).Result)
	_, err := os.Stat(p.store.Path("other/" + bucket.CurrentName))
	p.must(err)
	daemon.terminate()
}

// within waits for a channel to be closed.
func (h *host) within(what string, done <-chan struct{}) {
	h.Helper()
	h.eventually(what, func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
}
