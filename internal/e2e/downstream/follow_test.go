package downstream_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/e2e"
	"syncd/internal/manifest"
)

// twin is another follower of the same bucket.
func twin(f *e2e.FollowerHost) *e2e.FollowerHost {
	f.Helper()
	return (&e2e.FollowerHost{Host: e2e.NewHostOf(f.T, f.Provider, f.Settings.Manifests...), Store: f.Store, Front: f.Front}).Follow()
}

func put(f *e2e.FollowerHost, generation int, release manifest.Release, files map[string]string) {
	f.Helper()
	f.Store.Publish("mirror/", generation, buckettest.Release{Manifest: "m", Release: release, Files: files})
}

func TestFollowerHasTheSameCommands(t *testing.T) {
	t.Parallel()
	f := e2e.NewFollower(t, "m")
	f.WithGate(`env > "$0.env"; grep -q good "$SYNCD_PATH/m.dat"`, "")
	f.Settings.More += "\nhooks: [{on: [activated], command: [sh, -c, 'env > " + f.Path("hook.env") + "']}]\nviews: [{name: v, manifests: [m], layout: flat}]"
	f.Configure()
	f.Expect(0, "config", "check")
	put(f, 1, "2026.09", map[string]string{"m.dat": "good 1", "n.dat": "n"})
	f.Expect(0, "sync", "--dry-run")
	f.Sync(0)
	put(f, 2, "2026.10", map[string]string{"m.dat": "good 2", "n.dat": "n"})
	result := f.Sync(0).Manifests[0]
	e2e.Same(f.Host, "downloads", []int{1, 1}, []int{result.FilesDownloaded, result.FilesReused})
	e2e.Same(f.Host, "content", "good 2", f.ServedContent("m"))
	put(f, 3, "2026.11", map[string]string{"m.dat": "bad", "n.dat": "n"})
	f.Expect(1, "sync")
	e2e.Same(f.Host, "content", "good 2", f.ServedContent("m"))
	f.Expect(0, "verify")
	f.Expect(0, "rollback")
	e2e.Same(f.Host, "content", "good 1", f.ServedContent("m"))
	e2e.Same(f.Host, "held from", "2026.10", f.Status().Manifests[0].HeldFrom)
	e2e.Same(f.Host, "manifests", "m  2026.11\n", f.Expect(0, "manifests").Stdout)
	e2e.Same(f.Host, "releases", "2026.11\n", f.Expect(0, "releases", "m").Stdout)
	e2e.Same(f.Host, "files", "Data/2026.11/m.dat\nData/2026.11/n.dat\n", f.Expect(0, "files", "m").Stdout)
	f.Expect(0, "get", "Data/latest/m.dat", "-o", f.Path("out"))
	e2e.Same(f.Host, "got", "bad", string(f.Read("out/m.dat")))
	f.Contains("error", f.Expect(2, "call", "releases", "ManifestList", "release=latest").Stderr, "source.s3 is a bucket")
	for _, env := range []string{"gate.sh.env", "hook.env"} {
		f.Contains(env, string(f.Read(env)), "PATH=")
	}
	e2e.Same(f.Host, "requests to the provider", 0, len(f.Provider.Requests()))
}

func TestFollowerThatIsKilledContinuesItsDownload(t *testing.T) {
	t.Parallel()
	f := e2e.NewFollower(t, "m")
	f.Settings.Elapsed, f.Settings.More = "60s", "transfers: {bandwidth: 4MiB}"
	f.Configure()
	content := strings.Repeat("0123456789abcdef", 1<<20)
	put(f, 1, "2026.10", map[string]string{"m.dat": content})
	f.Store.Kill() // the first requests find no server
	running := f.Start("sync")
	f.Eventually("a request", func() bool { return len(f.Front.Requests()) > 0 })
	f.Store.Start()
	f.Partial()
	f.Store.Kill() // in the middle
	f.Store.Start()
	f.Partial()
	running.Signal(syscall.SIGKILL)
	running.Wait()

	f.ConfigureWith("")
	f.Front.Requests()
	f.Expect(0, "sync")
	e2e.Same(f.Host, "digest", f.Digest(strings.NewReader(content)), f.Published("m")["m.dat"])
	if !slices.ContainsFunc(f.Front.Requests(), func(r buckettest.Request) bool { return r.Header.Get("Range") != "" }) {
		t.Error("the second process did not continue the download")
	}
}

func TestDaemonFollowsABucket(t *testing.T) {
	t.Parallel()
	f := e2e.NewFollower(t, "m")
	put(f, 1, "2026.09", map[string]string{"m.dat": "september"})
	daemon := f.Daemon()
	f.Eventually("the first release", func() bool { return f.Current() != "" && f.ServedContent("m") == "september" })
	put(f, 2, "2026.10", map[string]string{"m.dat": "october"})
	f.Sync(0)
	e2e.Same(f.Host, "content", "october", f.ServedContent("m"))
	f.Store.Kill()
	f.Front.Answer(buckettest.SlowDown)
	f.Expect(1, "sync")
	e2e.Same(f.Host, "content", "october", f.ServedContent("m"))
	f.Front.Answer(nil)
	f.Store.Start()
	put(f, 1, "2026.09", map[string]string{"m.dat": "september"}) // a store that gives old data
	f.Contains("error", f.Expect(1, "sync").Stderr, "older", "sync --force m")
	f.Sync(0, "--force")
	e2e.Same(f.Host, "content", "september", f.ServedContent("m"))
	daemon.Terminate()
}

func TestTwentyFollowersEndWholeWhateverTheStoreDoes(t *testing.T) {
	t.Parallel()
	first := e2e.NewFollower(t, "m")
	followers := []*e2e.FollowerHost{first}
	for len(followers) < 20 {
		followers = append(followers, twin(first))
	}
	september, october := map[string]string{}, map[string]string{}
	for i := range 20 {
		name := fmt.Sprintf("%d.dat", i)
		september[name] = strings.Repeat(name, 1000)
		october[name] = strings.Repeat(name, 1000+i%2)
	}
	put(first, 1, "2026.09", september)
	old, err := os.ReadFile(first.Store.Path("mirror/current.json"))
	first.Must(err)
	var requests atomic.Int64
	first.Front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		switch n := requests.Add(1); {
		case n%7 == 0:
			return buckettest.SlowDown(w, r)
		case n%5 == 0 && buckettest.Name(r) == "mirror/current.json":
			_, _ = w.Write(old)
			return true
		}
		return false
	})
	var running []*e2e.Process
	for _, f := range followers {
		f.Settings.Elapsed = "60s"
		f.Configure()
		running = append(running, f.Start("sync"))
	}
	first.Eventually("requests", func() bool { return requests.Load() > 100 })
	first.Store.Kill()
	first.Store.Start()
	put(first, 2, "2026.10", october)
	for _, p := range running {
		if code := p.Wait(); code != 0 {
			t.Errorf("exit %d", code)
		}
	}
	for i, f := range followers {
		f.Eventually("the new release", func() bool {
			f.Syncd("sync") // refuses old data, until the store gives the new
			return f.Status().Manifests[0].Release == "2026.10"
		})
		f.Expect(0, "verify")
		e2e.Same(f.Host, "published by "+fmt.Sprint(i), first.Published("m"), f.Published("m"))
	}
}

func TestFollowerOfABucketServesOtherHosts(t *testing.T) {
	t.Parallel()
	f := e2e.NewFollower(t, "m")
	address := e2e.FreeAddress(f.Host)
	f.ConfigureWith(fmt.Sprintf("serve: {listen: %q, public_url: %q}", address, "http://"+address))
	put(f, 1, "2026.10", map[string]string{"a.dat": "a", "b.dat": "b"})
	f.Daemon()
	f.Eventually("the release", func() bool { return f.Current() != "" })
	last := e2e.NewHostOf(t, f.Provider, "m")
	last.Settings.URL = "http://" + address
	last.Configure()
	last.Sync(0)
	e2e.Same(last, "published", f.Published("m"), last.Published("m"))
	e2e.Same(last, "requests to the provider", 0, len(f.Provider.Requests()))
}

func TestPublisherIsTheOnlyOneThatAsksTheProvider(t *testing.T) {
	t.Parallel()
	f := e2e.NewFollower(t, "m")
	publisher := e2e.NewHostOf(t, f.Provider, "m")
	publisher.Environ, publisher.Settings.Elapsed = f.Environ, "60s"
	publisher.ConfigureWith("publish: " + "{" + f.Settings.Bucket + "}")
	f.Settings.Elapsed = "60s"
	f.Configure()
	others := []*e2e.FollowerHost{f, twin(f), twin(f)}
	all := func(release, content string) {
		t.Helper()
		for _, f := range others {
			f.Sync(0)
			e2e.Same(f.Host, "release", release, f.Status().Manifests[0].Release)
			e2e.Same(f.Host, "content", content, f.ServedContent("m"))
		}
	}
	f.Provider.SetManifest("m", "2026.09", e2e.TextFile("m.dat", "september"), e2e.TextFile("n.dat", "n"))
	publisher.Sync(0)
	all("2026.09", "september")

	f.Provider.SetManifest("m", "2026.10", e2e.TextFile("m.dat", "october"), e2e.TextFile("n.dat", "n"))
	var uploads atomic.Int64
	f.Front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && uploads.Add(1) == 1 {
			f.Store.Kill()
			f.Store.Start()
			return buckettest.SlowDown(w, r)
		}
		return false
	})
	publisher.Sync(0)
	f.Front.Answer(nil)
	all("2026.10", "october")
	e2e.Same(publisher, "uploads that were disturbed", true, uploads.Load() > 0)

	publisher.Expect(0, "rollback")
	all("2026.09", "september")
	downloads := map[string]int{}
	for _, r := range f.Provider.Requests() {
		if strings.HasPrefix(r.Path, "/Download/") {
			downloads[r.Path]++
		}
	}
	e2e.Same(publisher, "downloads from the provider", map[string]int{"/Download/Data/2026.09/m.dat": 1, "/Download/Data/2026.09/n.dat": 1, "/Download/Data/2026.10/m.dat": 1}, downloads)
}
