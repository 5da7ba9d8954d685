//go:build linux

package httpserver

import (
	"net/http"
	"testing"
)

// A page of another site learned by the time of an answer, or by whether a file loads, what
// this server has.
func TestPagesOfOtherSitesLoadNothing(t *testing.T) {
	for _, web := range []string{"", webConfigFile(t, basicAuth)} {
		base := serve(t, okay, web)
		ask := func(site, dest string) int {
			t.Helper()
			req, err := http.NewRequest(http.MethodGet, base+"/fleet", nil)
			must(t, err)
			for name, value := range map[string]string{"Sec-Fetch-Site": site, "Sec-Fetch-Dest": dest} {
				if value != "" {
					req.Header.Set(name, value)
				}
			}
			if web != "" {
				req.SetBasicAuth("alice", "secret") // as a browser does that knows it
			}
			client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
			res, err := client.Do(req)
			must(t, err)
			must(t, res.Body.Close())
			return res.StatusCode
		}
		for _, site := range []string{"cross-site", "same-site"} {
			for _, dest := range []string{"empty", "image", "script", "style", "iframe", "object", "embed", "audio", "manifest"} {
				if got := ask(site, dest); got != http.StatusForbidden {
					t.Errorf("%s, %s: %d", site, dest, got)
				}
			}
			if got := ask(site, "document"); got != http.StatusOK {
				t.Errorf("a link on a page of another site (%s): %d", site, got)
			}
		}
		for _, own := range [][2]string{{"", ""}, {"same-origin", "empty"}, {"same-origin", "script"}, {"none", "document"}} {
			if got := ask(own[0], own[1]); got != http.StatusOK {
				t.Errorf("%q: %d", own, got)
			}
		}
	}
}
