package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"syncd/internal/downstream/rings"
)

// lists asks for the releases of m, with headers as Syncd-State. It returns the status.
func (u *upstream) lists(path, id string, told ...string) int {
	u.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+u.address+path+"?id="+url.QueryEscape(id), nil)
	u.must(err)
	req.Header[rings.HeaderState] = told
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	u.must(err)
	defer res.Body.Close()
	same(u.host, "names itself", rings.Upstream, res.Header.Get(rings.HeaderUpstream))
	return res.StatusCode
}

func TestWhatAFollowerTellsGrantsNothing(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"m"}, `rings: [{name: canary}, {name: rest, delay: 24h, stop_above: "0%"}]`)
	u.month("m", "2026.10", "october")
	canary, rest := u.addID("canary", "--ring", "canary"), u.addID("rest", "--ring", "rest")
	up := u.daemon()
	up.logged("sync")
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
	same(u.host, "stopped", 1, len(stopped)) // the canary may say so
	for _, h := range hosts {
		if h.Host != "h" && h.Host != "" || strings.ContainsAny(h.Host+h.Reason+h.Release, "<%x") {
			t.Errorf("%+v", h)
		}
	}
	u.checkLog(up)
	up.terminate()
}

// Followers of a product poll Releases/Product, which names no manifest of the upstream.
func TestRingStopsAProductToo(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"suite_zip\n    product: DataQualitySuite"}, `rings: [{name: canary}, {name: rest, stop_above: "0%"}]`)
	u.provider.AddSample()
	follow := func(name, gate string) *host {
		f := u.follow(name, name)
		f.settings.manifests, f.settings.more = []string{"product\n    product: DataQualitySuite"}, gate
		f.configure()
		return f
	}
	canary, rest := follow("canary", `gate: {command: [sh, -c, 'test "$SYNCD_RELEASE" != 2026.11']}`), follow("rest", "")
	up := u.daemon()
	up.logged("sync")
	released := func(h *host) string {
		h.Helper()
		return h.status().Manifests[0].Release
	}
	canary.sync(0)
	rest.sync(0)
	same(rest, "release", "2026.10", released(rest))

	u.provider.AdvanceSample()
	up.onDemand()
	same(u.host, "release", "2026.11", released(u.host))
	for range 2 {
		canary.daemonPolls()
	}
	hosts, stopped := u.fleet()
	same(u.host, "the canary", "refused 2026.11 gate", hosts["canary"].State+" "+hosts["canary"].Refused+" "+hosts["canary"].Reason)
	same(u.host, "stopped", 1, len(stopped))
	rest.sync(0)
	same(rest, "release", "2026.10", released(rest))
	u.expect(0, "serve", "release", "2026.11")
	rest.sync(0)
	same(rest, "release", "2026.11", released(rest))
	up.terminate()
}

// daemonPolls runs a daemon until it has synced twice, so that its second poll tells what
// the first one came to.
func (h *host) daemonPolls() {
	h.Helper()
	p := h.daemon()
	p.logged("sync")
	p.onDemand()
	p.terminate()
}
