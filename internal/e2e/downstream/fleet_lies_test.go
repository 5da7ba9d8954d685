package downstream_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"syncd/internal/downstream/rings"
	"syncd/internal/e2e"
)

// lists asks for the releases of m, with headers as Syncd-State. It returns the status.
func (u *upstream) lists(path, id string, told ...string) int {
	u.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+u.address+path+"?id="+url.QueryEscape(id), nil)
	u.Must(err)
	req.Header[rings.HeaderState] = told
	client := &http.Client{Timeout: e2e.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	u.Must(err)
	defer res.Body.Close()
	e2e.Same(u.Host, "names itself", rings.Upstream, res.Header.Get(rings.HeaderUpstream))
	return res.StatusCode
}

func TestWhatAFollowerTellsGrantsNothing(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"m"}, `rings: [{name: canary}, {name: rest, delay: 24h, stop_above: "0%"}]`)
	u.Month("m", "2026.10", "october")
	canary, rest := u.addID("canary", "--ring", "canary"), u.addID("rest", "--ring", "rest")
	up := u.SyncedDaemon()
	const host = "host=h; id=1"
	for name, told := range map[string][]string{
		"nothing":             nil,
		"that it serves it":   {host + "; release=2026.10"},
		"another ring":        {host + "; ring=canary"},
		"another name":        {host + "; name=canary"},
		"two headers":         {host, host + "; release=2026.10"},
		"that it refused it":  {host + "; refused=2026.10; reason=gate"},
		"a future release":    {host + "; release=2099.12"},
		"a very long text":    {host + "; version=" + strings.Repeat("x", 8000)},
		"what is no header":   {"=;=;=%00\t<script>"},
		"thousands of values": {strings.Repeat("host=h; ", 1000)},
	} {
		for _, path := range []string{"/ManifestReleases/m", "/manifestreleases/M", "/Manifest/latest/m", "/Manifest/2026.10/m/", "/Releases/Data/m.dat"} {
			for range 2 {
				if status := u.lists(path, rest, told...); status != http.StatusNotFound {
					t.Errorf("%s, after a follower told %s: %d", path, name, status)
				}
			}
			if status := u.lists(path, canary, told...); status != http.StatusOK && name != "that it refused it" {
				t.Errorf("%s for the first ring, with %s: %d", path, name, status)
			}
		}
	}
	hosts, stopped := u.fleet()
	e2e.Same(u.Host, "stopped", 1, len(stopped)) // the canary may say so
	for _, h := range hosts {
		if h.Host != "h" && h.Host != "" || strings.ContainsAny(h.Host+h.Reason+h.Release, "<%x") {
			t.Errorf("%+v", h)
		}
	}
	u.checkLog(up)
	up.Terminate()
}

// Followers of a product poll Releases/Product, which names no manifest of the upstream.
func TestRingStopsAProductToo(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"suite_zip\n    product: DataQualitySuite"}, `rings: [{name: canary}, {name: rest, stop_above: "0%"}]`)
	u.Provider.AddSample()
	follow := func(name, gate string) *e2e.Host {
		f := u.follow(name, name)
		f.Settings.Manifests, f.Settings.More = []string{"product\n    product: DataQualitySuite"}, gate
		f.Configure()
		return f
	}
	canary, rest := follow("canary", `gate: {command: [sh, -c, 'test "$SYNCD_RELEASE" != 2026.11']}`), follow("rest", "")
	up := u.SyncedDaemon()
	released := func(h *e2e.Host) string {
		h.Helper()
		return h.Status().Manifests[0].Release
	}
	canary.Sync(0)
	rest.Sync(0)
	e2e.Same(rest, "release", "2026.10", released(rest))

	u.Provider.AdvanceSample()
	onDemand(up)
	e2e.Same(u.Host, "release", "2026.11", released(u.Host))
	for range 2 {
		daemonPolls(canary)
	}
	hosts, stopped := u.fleet()
	e2e.Same(u.Host, "the canary", "refused 2026.11 gate", hosts["canary"].State+" "+hosts["canary"].Refused+" "+hosts["canary"].Reason)
	e2e.Same(u.Host, "stopped", 1, len(stopped))
	rest.Sync(0)
	e2e.Same(rest, "release", "2026.10", released(rest))
	u.Expect(0, "serve", "release", "2026.11")
	rest.Sync(0)
	e2e.Same(rest, "release", "2026.11", released(rest))
	up.Terminate()
}

// daemonPolls runs a daemon until it has synced twice, so that its second poll tells what
// the first one came to.
func daemonPolls(h *e2e.Host) {
	h.Helper()
	p := h.SyncedDaemon()
	onDemand(p)
	p.Terminate()
}
