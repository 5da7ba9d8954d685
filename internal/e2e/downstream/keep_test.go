package downstream_test

import (
	"net/http"
	"strings"
	"testing"

	"syncd/internal/emulator"
)

// has requires that a follower finds a release with its file, or that it is gone.
func (u *upstream) has(release, id string, want bool) {
	u.Helper()
	status, text := u.ask("/Download/Data/"+release+"/m.dat", id)
	if (status == http.StatusOK && text == release) != want || !want && status != http.StatusNotFound {
		u.Errorf("%s: status %d, %q", release, status, text)
	}
}

func TestAReleaseThatAFollowerAskedAboutOutlivesAKill(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"m"})
	keep := func(keep string) {
		u.serve("http", "keep: "+keep)
		u.Settings.More += "\nretain: 0\nretain_for: 0s"
		u.Configure()
	}
	keep("1h")
	id := u.addID("db01")
	publish := func(release string) {
		u.Provider.SetManifest("m", release, emulator.File{Name: "m.dat", Content: emulator.Text(release)})
	}
	publish("2026.08")
	u.Sync(0)
	p := u.Daemon()
	if status, text := u.ask("/Manifest/2026.08/m", id); status != http.StatusOK || !strings.Contains(text, "/Download/Data/2026.08/m.dat") {
		t.Fatalf("%d %s", status, text)
	}
	u.Must(p.Cmd.Process.Kill()) // right after the answer
	p.Wait()

	for _, release := range []string{"2026.09", "2026.10"} {
		publish(release)
		u.Sync(0)
		u.Sync(0) // prunes once more
	}
	p = u.Daemon()
	u.has("2026.10", id, true)
	u.has("2026.09", id, false) // no follower asked about it
	u.has("2026.08", id, true)
	if _, text := u.ask("/ManifestReleases/m", id); text != `["2026.08","2026.10"]` {
		t.Errorf("releases %s", text)
	}
	p.Terminate()
	u.Expect(0, "verify")

	keep("1ms")
	u.Sync(0)
	p = u.Daemon()
	u.has("2026.08", id, false)
	p.Terminate()
}
