package downstream_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// front stands between a follower and its upstream, and counts the requests.
type front struct {
	*httptest.Server

	mu    sync.Mutex
	asked []string // the paths, without ids
	hides string   // paths below this are answered with 404, as an earlier version does
}

func (u *upstream) behindFront(f *e2e.Host) *front {
	u.Helper()
	to, err := url.Parse("http://" + u.address)
	u.Must(err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	between := &front{}
	between.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		between.mu.Lock()
		between.asked = append(between.asked, r.URL.Path)
		isHidden := between.hides != "" && strings.HasPrefix(r.URL.Path, between.hides)
		between.mu.Unlock()
		if isHidden {
			w.Header().Set("Syncd-Upstream", "1")
			w.WriteHeader(http.StatusNotFound)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	u.T.Cleanup(between.Close)
	f.Settings.URL = between.URL
	f.Configure()
	return between
}

// take returns the paths since the last call, and those of downloads apart.
func (f *front) take() (questions, downloads []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, path := range f.asked {
		if strings.HasPrefix(path, "/Download/") || strings.HasPrefix(path, "/-/mirror/objects/") || strings.HasPrefix(path, "/-/mirror/packs/") {
			downloads = append(downloads, path)
		} else {
			questions = append(questions, path)
		}
	}
	f.asked = nil
	return questions, downloads
}

func sixty(name string, month int) (files []emulator.File) {
	for i := range 60 {
		files = append(files, emulator.File{Name: fmt.Sprintf("%s%d.dat", name, i), Content: emulator.Random(uint64(1000*month+i)+uint64(name[0])<<20, 500)})
	}
	return files
}

// A follower polls all its manifests with one request, and a new release of 60 small
// files costs three more and a pack.
func TestAFollowerReadsTheMirrorOfItsUpstream(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"m", "n"})
	for _, name := range u.Settings.Manifests {
		u.Provider.SetManifest(name, "2026.09", sixty(name, 9)...)
	}
	f := u.follower(u.addID("db01"))
	between := u.behindFront(f)
	up := u.SyncedDaemon()
	daemon := f.SyncedDaemon()
	e2e.Same(f, "files", u.Published("m"), f.Published("m"))
	questions, downloads := between.take()
	e2e.Same(f, "packs", 2, len(downloads))
	if len(questions) != 6 || slices.ContainsFunc(downloads, func(path string) bool { return strings.HasPrefix(path, "/Download/") }) {
		t.Errorf("the first poll asked for %v", questions)
	}

	onDemand(daemon)
	questions, _ = between.take()
	e2e.Same(f, "an idle poll", []string{"/-/mirror/current.json"}, questions)
	daemon.Terminate()
	f.Sync(0)
	questions, _ = between.take()
	e2e.Same(f, "an idle poll of another process", []string{"/-/mirror/current.json"}, questions)
	daemon = f.Daemon()
	daemon.LoggedTimes("sync", 1)
	between.take()

	u.Provider.SetManifest("m", "2026.10", sixty("m", 10)...)
	onDemand(up)
	onDemand(daemon)
	e2e.Same(f, "files", u.Published("m"), f.Published("m"))
	questions, downloads = between.take()
	if len(questions) != 3 || len(downloads) != 1 {
		t.Errorf("a new release: %d downloads, and %v", len(downloads), questions)
	}

	onDemand(daemon) // tells what it serves
	u.Eventually("both manifests in the fleet", func() bool {
		hosts, _ := u.fleet()
		return hosts["db01"].State == "in_sync" && hosts["db01"].Release == "2026.10"
	})
	f.Expect(0, "verify")
	up.Terminate()
	daemon.Terminate()
}

// Followers and upstreams of earlier versions speak the provider's wire format.
func TestEarlierVersionsAreFollowedInTheWireFormat(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ hides, source string }{
		"an earlier upstream":                  {hides: "/-/"},
		"a follower that knows no other form":  {source: "report: false"},
		"a follower that proves files by SHA1": {source: "hash: SHA1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpstream(t, []string{"m"})
			u.Provider.SetManifest("m", "2026.09", sixty("m", 9)...)
			f := u.follower(u.addID("db01"))
			f.Settings.Source = row.source
			between := u.behindFront(f)
			between.hides = row.hides
			u.Sync(0)
			u.SyncedDaemon()
			f.SyncedDaemon()
			e2e.Same(f, "files", u.Published("m"), f.Published("m"))
			_, downloads := between.take()
			if len(downloads) != 60 || !strings.HasPrefix(downloads[0], "/Download/") {
				t.Errorf("%d downloads, %v", len(downloads), downloads[:1])
			}
		})
	}
}

// Who asks a follower of a follower finds what the provider says, also of quarters, and what
// it calls a manifest.
func TestTheProvidersListsPassThroughAFollower(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"m"})
	u.Provider.SetManifest("m", "2026.10", emulator.File{Name: "a.dat", Content: emulator.Random(1, 3000)})
	id := u.addID("db01")
	up := u.SyncedDaemon()
	f := u.follower(id)
	second := &upstream{Host: f, address: e2e.FreeAddress(f)}
	second.Settings.URL = "http://" + u.address
	second.serve("http")
	secondID := second.addID("db02")
	t.Cleanup(second.checkIDs)
	daemon := second.SyncedDaemon()
	for _, path := range []string{"/ManifestList/latest", "/Manifest/2026.Q4/m", "/Manifest/2026.10/m", "/Metadata/Data/2026.10/a.dat", "/MD5/Data/2026.10/a.dat"} {
		wantStatus, want := u.ask(path, id)
		status, got := second.ask(path, secondID)
		swap := strings.NewReplacer(second.address, u.address, url.QueryEscape(secondID), url.QueryEscape(id), secondID, id)
		got, want = swap.Replace(got), strings.ReplaceAll(want, ".dat/?", ".dat?") // records have no slashes of links
		if status != wantStatus || got != want {
			t.Errorf("%s: %d %q, the upstream has %d %q", path, status, got, wantStatus, want)
		}
	}
	up.Terminate()
	daemon.Terminate()
}
