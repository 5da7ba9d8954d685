package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/manifest"
)

// followerHost is a host that mirrors the bucket of a real S3 server.
type followerHost struct {
	*host
	store *buckettest.Server
	front *buckettest.Front // before store
}

func newFollower(t *testing.T, manifests ...string) *followerHost {
	t.Helper()
	store := buckettest.New(t)
	return (&followerHost{host: newHost(t, manifests...), store: store, front: buckettest.NewFront(t, store)}).follow()
}

// twin is another follower of the same bucket.
func (f *followerHost) twin() *followerHost {
	f.Helper()
	return (&followerHost{host: newHostOf(f.T, f.provider, f.settings.manifests...), store: f.store, front: f.front}).follow()
}

func (f *followerHost) follow() *followerHost {
	f.Helper()
	f.environ = append(f.environ, "AWS_ACCESS_KEY_ID="+buckettest.AccessKey, "AWS_SECRET_ACCESS_KEY="+buckettest.SecretKey)
	f.settings.bucket = fmt.Sprintf("s3: {endpoint: %q, bucket: %s, prefix: mirror/}", f.front.Endpoint, buckettest.Bucket)
	f.configure()
	f.Cleanup(f.keyFree)
	return f
}

// keyFree expects no secret key in the output of gates and hooks, and in no file.
func (f *followerHost) keyFree() {
	f.must(filepath.WalkDir(f.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), buckettest.SecretKey) {
			f.Errorf("the secret key is in %s", path)
		}
		return err
	}))
}

func (f *followerHost) put(generation int, release manifest.Release, files map[string]string) {
	f.Helper()
	f.store.Publish("mirror/", generation, buckettest.Release{Manifest: "m", Release: release, Files: files})
}

func TestFollowerHasTheSameCommands(t *testing.T) {
	t.Parallel()
	f := newFollower(t, "m")
	f.withGate(`env > "$0.env"; grep -q good "$SYNCD_PATH/m.dat"`, "")
	f.settings.more += "\nhooks: [{on: [activated], command: [sh, -c, 'env > " + f.path("hook.env") + "']}]\nviews: [{name: v, manifests: [m], layout: flat}]"
	f.configure()
	f.expect(0, "config", "check")
	f.put(1, "2026.09", map[string]string{"m.dat": "good 1", "n.dat": "n"})
	f.expect(0, "sync", "--dry-run")
	f.sync(0)
	f.put(2, "2026.10", map[string]string{"m.dat": "good 2", "n.dat": "n"})
	result := f.sync(0).Manifests[0]
	same(f.host, "downloads", []int{1, 1}, []int{result.FilesDownloaded, result.FilesReused})
	same(f.host, "content", "good 2", f.servedContent("m"))
	f.put(3, "2026.11", map[string]string{"m.dat": "bad", "n.dat": "n"})
	f.expect(1, "sync")
	same(f.host, "content", "good 2", f.servedContent("m"))
	f.expect(0, "verify")
	f.expect(0, "rollback")
	same(f.host, "content", "good 1", f.servedContent("m"))
	same(f.host, "held from", "2026.10", f.status().Manifests[0].HeldFrom)
	same(f.host, "manifests", "m  2026.11\n", f.expect(0, "manifests").stdout)
	same(f.host, "releases", "2026.11\n", f.expect(0, "releases", "m").stdout)
	same(f.host, "files", "Data/2026.11/m.dat\nData/2026.11/n.dat\n", f.expect(0, "files", "m").stdout)
	f.expect(0, "get", "Data/latest/m.dat", "-o", f.path("out"))
	same(f.host, "got", "bad", string(f.read("out/m.dat")))
	f.contains("error", f.expect(2, "call", "releases", "ManifestList", "release=latest").stderr, "source.s3 is a bucket")
	for _, env := range []string{"gate.sh.env", "hook.env"} {
		f.contains(env, string(f.read(env)), "PATH=")
	}
	same(f.host, "requests to the provider", 0, len(f.provider.Requests()))
}

func TestFollowerThatIsKilledContinuesItsDownload(t *testing.T) {
	t.Parallel()
	f := newFollower(t, "m")
	f.settings.elapsed, f.settings.more = "60s", "transfers: {bandwidth: 4MiB}"
	f.configure()
	content := strings.Repeat("0123456789abcdef", 1<<20)
	f.put(1, "2026.10", map[string]string{"m.dat": content})
	f.store.Kill() // the first requests find no server
	running := f.start("sync")
	f.eventually("a request", func() bool { return len(f.front.Requests()) > 0 })
	f.store.Start()
	f.partial()
	f.store.Kill() // in the middle
	f.store.Start()
	f.partial()
	running.signal(syscall.SIGKILL)
	running.wait()

	f.settings.more = ""
	f.configure()
	f.front.Requests()
	f.expect(0, "sync")
	same(f.host, "digest", f.digest(strings.NewReader(content)), f.published("m")["m.dat"])
	if !slices.ContainsFunc(f.front.Requests(), func(r buckettest.Request) bool { return r.Header.Get("Range") != "" }) {
		t.Error("the second process did not continue the download")
	}
}

func TestDaemonFollowsABucket(t *testing.T) {
	t.Parallel()
	f := newFollower(t, "m")
	f.put(1, "2026.09", map[string]string{"m.dat": "september"})
	daemon := f.daemon()
	f.eventually("the first release", func() bool { return f.current() != "" && f.servedContent("m") == "september" })
	f.put(2, "2026.10", map[string]string{"m.dat": "october"})
	f.sync(0)
	same(f.host, "content", "october", f.servedContent("m"))
	f.store.Kill()
	f.front.Answer(buckettest.SlowDown)
	f.expect(1, "sync")
	same(f.host, "content", "october", f.servedContent("m"))
	f.front.Answer(nil)
	f.store.Start()
	f.put(1, "2026.09", map[string]string{"m.dat": "september"}) // a store that gives old data
	f.contains("error", f.expect(1, "sync").stderr, "older", "sync --force m")
	f.sync(0, "--force")
	same(f.host, "content", "september", f.servedContent("m"))
	daemon.terminate()
}

func TestTwentyFollowersEndWholeWhateverTheStoreDoes(t *testing.T) {
	t.Parallel()
	first := newFollower(t, "m")
	followers := []*followerHost{first}
	for len(followers) < 20 {
		followers = append(followers, first.twin())
	}
	september, october := map[string]string{}, map[string]string{}
	for i := range 20 {
		name := fmt.Sprintf("%d.dat", i)
		september[name] = strings.Repeat(name, 1000)
		october[name] = strings.Repeat(name, 1000+i%2)
	}
	first.put(1, "2026.09", september)
	old, err := os.ReadFile(first.store.Path("mirror/current.json"))
	first.must(err)
	var requests atomic.Int64
	first.front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		switch n := requests.Add(1); {
		case n%7 == 0:
			return buckettest.SlowDown(w, r)
		case n%5 == 0 && buckettest.Name(r) == "mirror/current.json":
			_, _ = w.Write(old)
			return true
		}
		return false
	})
	var running []*process
	for _, f := range followers {
		f.settings.elapsed = "60s"
		f.configure()
		running = append(running, f.start("sync"))
	}
	first.eventually("requests", func() bool { return requests.Load() > 100 })
	first.store.Kill()
	first.store.Start()
	first.put(2, "2026.10", october)
	for _, p := range running {
		if code := p.wait(); code != 0 {
			t.Errorf("exit %d", code)
		}
	}
	for i, f := range followers {
		f.eventually("the new release", func() bool {
			f.syncd("sync") // refuses old data, until the store gives the new
			return f.status().Manifests[0].Release == "2026.10"
		})
		f.expect(0, "verify")
		same(f.host, "published by "+fmt.Sprint(i), first.published("m"), f.published("m"))
	}
}

func TestFollowerOfABucketServesOtherHosts(t *testing.T) {
	t.Parallel()
	f := newFollower(t, "m")
	address := freeAddress(f.host)
	f.settings.more = fmt.Sprintf("serve: {listen: %q, public_url: %q}", address, "http://"+address)
	f.configure()
	f.put(1, "2026.10", map[string]string{"a.dat": "a", "b.dat": "b"})
	f.daemon()
	f.eventually("the release", func() bool { return f.current() != "" })
	last := newHostOf(t, f.provider, "m")
	last.settings.url = "http://" + address
	last.configure()
	last.sync(0)
	same(last, "published", f.published("m"), last.published("m"))
	same(last, "requests to the provider", 0, len(f.provider.Requests()))
}

func TestPublisherIsTheOnlyOneThatAsksTheProvider(t *testing.T) {
	t.Parallel()
	f := newFollower(t, "m")
	publisher := newHostOf(t, f.provider, "m")
	publisher.environ, publisher.settings.elapsed = f.environ, "60s"
	publisher.settings.more = "publish: " + "{" + f.settings.bucket + "}"
	publisher.configure()
	f.settings.elapsed = "60s"
	f.configure()
	others := []*followerHost{f, f.twin(), f.twin()}
	all := func(release, content string) {
		t.Helper()
		for _, f := range others {
			f.sync(0)
			same(f.host, "release", release, f.status().Manifests[0].Release)
			same(f.host, "content", content, f.servedContent("m"))
		}
	}
	f.provider.SetManifest("m", "2026.09", textFile("m.dat", "september"), textFile("n.dat", "n"))
	publisher.sync(0)
	all("2026.09", "september")

	f.provider.SetManifest("m", "2026.10", textFile("m.dat", "october"), textFile("n.dat", "n"))
	var uploads atomic.Int64
	f.front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && uploads.Add(1) == 1 {
			f.store.Kill()
			f.store.Start()
			return buckettest.SlowDown(w, r)
		}
		return false
	})
	publisher.sync(0)
	f.front.Answer(nil)
	all("2026.10", "october")
	same(publisher, "uploads that were disturbed", true, uploads.Load() > 0)

	publisher.expect(0, "rollback")
	all("2026.09", "september")
	downloads := map[string]int{}
	for _, r := range f.provider.Requests() {
		if strings.HasPrefix(r.Path, "/Download/") {
			downloads[r.Path]++
		}
	}
	same(publisher, "downloads from the provider", map[string]int{"/Download/Data/2026.09/m.dat": 1, "/Download/Data/2026.09/n.dat": 1, "/Download/Data/2026.10/m.dat": 1}, downloads)
}
