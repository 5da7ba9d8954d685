package downstream_test

import (
	"net/http"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// A host that follows a bucket and serves others gives them the provider's answers.
func TestTheProvidersAnswersPassThroughABucket(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	p.Provider.SetManifest("m", "2026.10", emulator.File{Name: "a.dat", Content: emulator.Random(1, 3000)}, emulator.File{Name: "b.dat", Content: emulator.Random(2, 1)})
	p.Sync(0)
	f := p.follower()
	u := &upstream{Host: f.Host, address: e2e.FreeAddress(f.Host)}
	u.serve("http")
	id := u.addID("third")
	t.Cleanup(u.checkIDs)
	up := f.SyncedDaemon()
	asked := len(p.Provider.Requests())

	for _, file := range []string{"a.dat", "b.dat"} {
		for _, endpoint := range []string{"Metadata", "MD5", "SHA1", "SHA256"} {
			path := "/" + endpoint + "/Data/2026.10/" + file
			wantStatus, want := (&upstream{Host: p.Host, address: p.Provider.URL()[len("http://"):]}).ask(path, e2e.CustomerID)
			status, got := u.ask(path, id)
			e2e.Same(f.Host, path, []any{wantStatus, want}, []any{status, got})
			e2e.Same(f.Host, path+": status", http.StatusOK, status)
		}
	}
	e2e.Same(f.Host, "requests of the follower to the provider", asked+8, len(p.Provider.Requests()))

	third := u.follower(id) // proves the files by MD5
	third.Settings.Source = "hash: MD5"
	third.Configure()
	third.Sync(0)
	e2e.Same(third, "files", p.Published("m"), third.Published("m"))
	up.Terminate()
}
