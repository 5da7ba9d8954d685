package downstream_test

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
	"syncd/internal/e2e"
	"syncd/internal/emulator"
	"syncd/internal/report"
)

// publisherHost is a host that publishes what it mirrors to a real S3 server.
type publisherHost struct {
	*e2e.Host
	store *buckettest.Server
	front *buckettest.Front // of this host alone, before store
}

func newPublisher(t *testing.T, manifests ...string) *publisherHost {
	t.Helper()
	return publisherOf(e2e.NewHost(t, manifests...).WithRace(), buckettest.New(t))
}

func publisherOf(h *e2e.Host, store *buckettest.Server) *publisherHost {
	p := &publisherHost{Host: h, store: store, front: buckettest.NewFront(h.T, store)}
	p.Environ = append(p.Environ, "AWS_ACCESS_KEY_ID="+buckettest.AccessKey, "AWS_SECRET_ACCESS_KEY="+buckettest.SecretKey)
	p.publishWith("")
	p.Cleanup(p.bucketHasNoSecret)
	return p
}

// publishWith configures publish with further keys of the file.
func (p *publisherHost) publishWith(more string) {
	p.ConfigureWith(fmt.Sprintf("publish: {s3: {endpoint: %q, bucket: %s, prefix: mirror/, region: %s}}\n%s", p.front.Endpoint, buckettest.Bucket, buckettest.Region, more))
}

// bucketHasNoSecret expects no Customer ID and no key in the bucket.
func (p *publisherHost) bucketHasNoSecret() {
	p.Must(filepath.WalkDir(p.store.Path(""), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, secret := range []string{e2e.CustomerID, buckettest.SecretKey} {
			if strings.Contains(string(content), secret) {
				p.Errorf("a secret is in %s", path)
			}
		}
		return err
	}))
}

// follower is a host that follows the bucket.
func (p *publisherHost) follower() *e2e.FollowerHost {
	p.Helper()
	return (&e2e.FollowerHost{Host: e2e.NewHostOf(p.T, p.Provider, p.Settings.Manifests...), Store: p.store, Front: buckettest.NewFront(p.T, p.store)}).Follow()
}

func (p *publisherHost) inBucket() bucket.Current {
	p.Helper()
	text, err := os.ReadFile(p.store.Path("mirror/" + bucket.CurrentName))
	p.Must(err)
	current, err := bucket.ParseCurrent(text)
	p.Must(err)
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
	p.Must(json.Unmarshal([]byte(p.Expect(code, append([]string{"sync", "--json"}, args...)...).Stdout), &result))
	if result.Upload == nil {
		p.Fatal("no publication in the result")
	}
	return result.Upload
}

func TestASyncPublishesBeforeItEnds(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	p.Provider.SetManifest("m", "2026.09", emulator.File{Name: "m.dat", Content: emulator.Text("september")})
	f := p.follower()
	e2e.Same(p.Host, "result", report.Uploaded, p.publication(0).Result)
	f.Sync(0)
	e2e.Same(f.Host, "content", "september", f.ServedContent("m"))

	p.Provider.SetManifest("m", "2026.10", emulator.File{Name: "m.dat", Content: emulator.Text("october")})
	p.front.Answer(buckettest.SlowDown)
	failed := p.publication(1)
	p.Contains("error", failed.Error, "reduce your request rate")
	e2e.Same(p.Host, "content here", "october", p.ServedContent("m"))
	f.Sync(0)
	e2e.Same(f.Host, "content there", "september", f.ServedContent("m"))
	p.Contains("error", p.Expect(1, "publish").Stderr, "reduce your request rate")

	p.front.Answer(nil)
	p.Contains("dry run", p.Expect(0, "publish", "--dry-run").Stdout, "would upload 1 objects (7 B)")
	p.Contains("published", p.Expect(0, "publish", "--gc").Stdout, "published generation 2", "deleted 0 objects")
	f.Sync(0)
	e2e.Same(f.Host, "content there", "october", f.ServedContent("m"))

	p.Expect(0, "rollback")
	e2e.Same(p.Host, "generation", 3, p.inBucket().Generation)
	f.Sync(0)
	e2e.Same(f.Host, "content there", "september", f.ServedContent("m"))
}

func TestPublishNeedsAPlaceAndCredentials(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t).WithRace()
	h.Contains("error", h.Expect(2, "publish").Stderr, "publish.s3")
	p := newPublisher(t, "m")
	for _, force := range []string{"--force=false", "--force", "--dry-run"} {
		h.Contains("nothing", p.Expect(1, "publish", force).Stderr, "nothing is served: run `syncd sync`")
	}
	p.Provider.SetManifest("m", "2026.10", emulator.File{Name: "m.dat", Content: emulator.Text("x")})
	p.Environ = append(p.Environ, "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=", "AWS_EC2_METADATA_DISABLED=true", "HOME="+p.Dir)
	p.Contains("error", p.publication(1).Error, "AWS_ACCESS_KEY_ID", "~/.aws/credentials")
	p.Must(os.Mkdir(p.Path(".aws"), 0o700))
	p.Write(".aws/credentials", fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", buckettest.AccessKey, buckettest.SecretKey), 0o600)
	e2e.Same(p.Host, "result", report.Uploaded, p.publication(0).Result)
	p.Must(os.RemoveAll(p.Path(".aws"))) // it holds the key
}

func TestAKilledPublisherContinuesItsUpload(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	content := strings.Repeat("0123456789abcdef", 3<<20) // three parts
	p.Provider.SetManifest("m", "2026.10", emulator.File{Name: "m.dat", Content: emulator.Text(content)})
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
	running := p.Start("sync")
	within(p.Host, "the third part", third)
	p.Eventually("two parts in the bucket", func() bool { return p.storedParts() >= 2 })
	running.Signal(syscall.SIGKILL)
	running.Wait()
	close(end)
	var again atomic.Int64
	p.front.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("partNumber") {
			again.Add(1)
		}
		return false
	})
	e2e.Same(p.Host, "result", report.Uploaded, p.publication(0).Result)
	e2e.Same(p.Host, "parts that were sent again", 1, int(again.Load()))
	f := p.follower()
	f.Sync(0)
	e2e.Same(f.Host, "digest", f.Digest(strings.NewReader(content)), f.Published("m")["m.dat"])
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
	b := publisherOf(e2e.NewHostOf(t, a.Provider, "m"), a.store)
	a.publishWith("election: {lease: 10s}")
	b.publishWith("election: {lease: 10s}")
	a.Provider.SetManifest("m", "2026.09", emulator.File{Name: "m.dat", Content: emulator.Text("september")})
	leader := a.Daemon()
	a.Eventually("the first generation", func() bool {
		_, err := os.Stat(a.store.Path("mirror/" + bucket.CurrentName))
		return err == nil
	})
	former := a.lease().Holder
	other := b.Daemon()
	b.Eventually("the second publisher looks", func() bool { return len(b.front.Requests()) > 0 })

	// The leader is stopped in the middle of an upload.
	a.Provider.SetManifest("m", "2026.10", emulator.File{Name: "m.dat", Content: emulator.Text(strings.Repeat("0123456789abcdef", 3<<20))})
	part, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	a.front.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("partNumber") {
			once.Do(func() { close(part) })
			<-goOn
		}
		return false
	})
	leader.Signal(syscall.SIGUSR1)
	within(a.Host, "a part", part)
	leader.Signal(syscall.SIGSTOP)
	other.Signal(syscall.SIGUSR1)
	b.Eventually("the other publisher leads", func() bool { c := a.inBucket(); return c.Fence >= 2 && c.Generation >= 2 })
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
	leader.Signal(syscall.SIGCONT)
	close(goOn)
	a.Eventually("the woken publisher looks at the lease", func() bool {
		for _, r := range a.front.Requests() {
			if r.Method == http.MethodGet && strings.HasSuffix(r.Name, bucket.LeaseName) {
				return true
			}
		}
		return false
	})
	leader.Signal(syscall.SIGUSR1)
	leader.Logged("sync")
	if what := wrote.Load(); what != nil {
		t.Errorf("the woken publisher wrote: %v", what)
	}
	if now := a.inBucket(); now.Fence < after.Fence || now.Generation < after.Generation {
		t.Errorf("from %+v back to %+v", after, now)
	}
	leader.Terminate()
	other.Terminate()
}

// A reload publishes to another place from then on, and gives the lease of the former back.
func TestAReloadChangesWhereADaemonPublishes(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	p.publishWith("election: {lease: 1h}")
	p.Provider.SetManifest("m", "2026.10", emulator.File{Name: "m.dat", Content: emulator.Text("x")})
	daemon := p.Daemon()
	p.Eventually("the first place", func() bool {
		_, err := os.Stat(p.store.Path("mirror/" + bucket.CurrentName))
		return err == nil
	})
	daemon.Logged("sync")
	p.ConfigureWith(strings.Replace(p.Settings.More, "mirror/", "other/", 1))
	daemon.Signal(syscall.SIGHUP)
	daemon.Logged("configuration reloaded")
	e2e.Same(p.Host, "holder of the first lease", "", p.lease().Holder)
	e2e.Same(p.Host, "result", report.Uploaded, p.publication(0).Result)
	_, err := os.Stat(p.store.Path("other/" + bucket.CurrentName))
	p.Must(err)
	daemon.Terminate()
}

// within waits for a channel to be closed.
func within(h *e2e.Host, what string, done <-chan struct{}) {
	h.Helper()
	h.Eventually(what, func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
}
