package main

import (
	"net/http"
	"testing"

	"syncd/internal/emulator"
)

// A host that follows a bucket and serves others gives them the provider's answers.
func TestTheProvidersAnswersPassThroughABucket(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	p.provider.SetManifest("m", "2026.10", emulator.File{Name: "a.dat", Content: emulator.Random(1, 3000)}, emulator.File{Name: "b.dat", Content: emulator.Random(2, 1)})
	p.sync(0)
	f := p.follower()
	u := &upstream{host: f.host, address: freeAddress(f.host)}
	u.serve("http")
	id := u.addID("third")
	t.Cleanup(u.checkIDs)
	up := f.daemon()
	up.logged("sync")
	asked := len(p.provider.Requests())

	for _, file := range []string{"a.dat", "b.dat"} {
		for _, endpoint := range []string{"Metadata", "MD5", "SHA1", "SHA256"} {
			path := "/" + endpoint + "/Data/2026.10/" + file
			wantStatus, want := (&upstream{host: p.host, address: p.provider.URL()[len("http://"):]}).ask(path, customerID)
			status, got := u.ask(path, id)
			same(f.host, path, []any{wantStatus, want}, []any{status, got})
			same(f.host, path+": status", http.StatusOK, status)
		}
	}
	same(f.host, "requests of the follower to the provider", asked+8, len(p.provider.Requests()))

	third := u.follower(id) // proves the files by MD5
	third.settings.source = "hash: MD5"
	third.configure()
	third.sync(0)
	same(third, "files", p.published("m"), third.published("m"))
	up.terminate()
}
