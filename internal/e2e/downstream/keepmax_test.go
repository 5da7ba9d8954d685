package downstream_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// An id that asks about each release pins no more than serve.keep_max, and nothing once it
// is removed.
func TestWhatFollowersPinHasAQuota(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"m"}, "keep_max: 2500KiB")
	u.Settings.More += "\nretain: 0\nretain_for: 0s"
	u.Configure()
	good, evil := u.addID("good"), u.addID("evil")
	publish := func(month int) string {
		release := fmt.Sprintf("2026.%02d", month)
		u.Provider.SetManifest("m", release, emulator.File{Name: "m.dat", Content: emulator.Random(uint64(month), 1<<20)})
		return release
	}
	publish(1)
	p := u.Daemon()
	p.Logged("sync")
	u.Eventually("the first release", func() bool { status, _ := u.ask("/Manifest/2026.01/m", good); return status == http.StatusOK })
	for month := 2; month <= 6; month++ {
		u.ask(fmt.Sprintf("/Manifest/2026.%02d/m", month-1), evil)
		publish(month)
		u.Sync(0)
	}
	releases := func() string {
		u.Sync(0) // prunes
		_, text := u.ask("/ManifestReleases/m", good)
		return text
	}
	e2e.Same(u.Host, "releases", `["2026.01","2026.05","2026.06"]`, releases())

	u.Expect(0, "serve-id", "remove", "evil")
	p.Signal(syscall.SIGHUP)
	p.Logged("configuration reloaded")
	e2e.Same(u.Host, "releases after the id was removed", `["2026.01","2026.06"]`, releases())
	p.Terminate()
}

// Without ids, a web page could make a browser on this host pin releases.
func TestABrowserPinsNothing(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"m"})
	u.Settings.More = strings.ReplaceAll(u.Settings.More, "  ids_file: ids\n", "") + "\nretain: 0\nretain_for: 0s"
	u.Configure()
	u.Month("m", "2026.01", "first")
	p := u.Daemon()
	p.Logged("sync")
	ask := func(release string, headers ...string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, "http://"+u.address+"/Manifest/"+release+"/m?id="+url.QueryEscape("any"), nil)
		u.Must(err)
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := (&http.Client{Timeout: e2e.Patience, Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		u.Must(err)
		res.Body.Close()
		e2e.Same(u.Host, "status", http.StatusOK, res.StatusCode)
	}
	for month, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}, {"User-Agent", "Mozilla/5.0"}, {"Cookie", "a=b"}} {
		ask(fmt.Sprintf("2026.%02d", month+1), headers...)
		u.Month("m", fmt.Sprintf("2026.%02d", month+2), fmt.Sprint(month))
		u.Sync(0)
		u.Sync(0)
	}
	_, text := u.ask("/ManifestReleases/m", "any")
	e2e.Same(u.Host, "releases", `["2026.05"]`, text)
	ask("2026.05")
	u.Month("m", "2026.06", "last")
	u.Sync(0)
	u.Sync(0)
	_, text = u.ask("/ManifestReleases/m", "any")
	e2e.Same(u.Host, "releases", `["2026.05","2026.06"]`, text)
	p.Terminate()
}
