package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"syncd/internal/emulator"
)

// upstream is a daemon that serves followers.
type upstream struct {
	*process
	address string
}

func (h *host) upstream() upstream {
	h.Helper()
	p := h.daemon()
	return upstream{p, "http://" + p.logged("serving followers")["address"].(string)}
}

// ask asks the upstream as a follower does.
func (u upstream) ask(path string) (int, string) {
	u.h.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	res, err := client.Get(u.address + path + "?format=comma&id=follower")
	u.h.must(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	u.h.must(err)
	u.h.secretFree(path, string(text))
	return res.StatusCode, string(text)
}

// has requires a release of the upstream to be there, or to be gone, with its file.
func (u upstream) has(release string, want bool) {
	u.h.Helper()
	status, text := u.ask("/Download/Data/" + release + "/m.dat")
	if (status == http.StatusOK && text == release) != want || !want && status != http.StatusNotFound {
		u.h.Errorf("%s: status %d, %q", release, status, text)
	}
}

func TestAReleaseThatAFollowerAskedAboutOutlivesAKill(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m")
	serve := "\nserve: {listen: 127.0.0.1:0, public_url: http://127.0.0.1, keep: "
	h.settings.more = "retain: 0\nretain_for: 0s" + serve + "1h}"
	h.configure()
	publish := func(release string) {
		h.provider.SetManifest("m", release, emulator.File{Name: "m.dat", Content: emulator.Text(release)})
	}
	publish("2026.08")
	h.sync(0)
	up := h.upstream()
	if status, text := up.ask("/Manifest/2026.08/m"); status != http.StatusOK || !strings.Contains(text, "/Download/Data/2026.08/m.dat") {
		t.Fatalf("%d %s", status, text)
	}
	h.must(up.cmd.Process.Kill()) // right after the answer
	up.wait()

	for _, release := range []string{"2026.09", "2026.10"} {
		publish(release)
		h.sync(0)
		h.sync(0) // prunes once more
	}
	up = h.upstream()
	up.has("2026.10", true)
	up.has("2026.09", false) // nobody asked
	up.has("2026.08", true)
	if _, text := up.ask("/ManifestReleases/m"); text != "2026.08,2026.10" {
		t.Errorf("releases %s", text)
	}
	up.terminate()
	h.expect(0, "verify")

	h.settings.more = "retain: 0\nretain_for: 0s" + serve + "1ms}"
	h.configure()
	h.sync(0)
	up = h.upstream()
	up.has("2026.08", false)
	up.terminate()
}
