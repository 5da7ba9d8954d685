package downstream_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"syncd/internal/downstream/rings"
	"syncd/internal/e2e"
	"syncd/internal/report"
)

// One id that makes up hosts fills neither the memory nor the answers of its upstream.
func TestInventedHostsAreNotShown(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, []string{"m"}, "max_hosts: 300", "rings: [{name: canary}, {name: rest}]")
	u.Month("m", "2026.10", "october")
	good, evil := u.addID("good", "--ring", "canary"), u.addID("evil", "--ring", "rest")
	up := u.Daemon()
	up.Logged("sync")
	client := &http.Client{Timeout: e2e.Patience}
	defer client.CloseIdleConnections()
	poll := func(id, told string) {
		req, err := http.NewRequest(http.MethodGet, "http://"+u.address+"/ManifestReleases/m?id="+url.QueryEscape(id), nil)
		u.Must(err)
		req.Header[rings.HeaderState] = []string{told}
		res, err := client.Do(req)
		u.Must(err)
		_, err = io.Copy(io.Discard, res.Body)
		u.Must(err)
		res.Body.Close()
	}
	poll(good, "host=db01; id=1; release=2026.10")
	for n := range 2000 {
		poll(evil, fmt.Sprintf("host=h%d; id=1; release=2026.10", n))
	}
	count := func(text string) int {
		t.Helper()
		var view report.FleetStatus
		if err := json.Unmarshal([]byte(text), &view); err != nil || len(view.Rings) != 2 || view.Rings[1].Hosts != 300 {
			t.Errorf("%v, rings %+v", err, view.Rings)
		}
		return len(view.Followers)
	}
	status, api := up.Get("/api/v1/fleet")
	e2e.Same(u.Host, "the API", "200 301", fmt.Sprint(status, " ", count(api)))
	_, api = up.Get("/api/v1/fleet?ring=canary&state=in_sync&release=2026.10")
	e2e.Same(u.Host, "the API with filters", 1, count(api))
	_, page := up.Get("/")
	if !strings.Contains(page, "301 in sync") || !strings.Contains(page, "201 more are not shown") {
		t.Error("the page does not count the followers")
	}
	for range 2 {
		e2e.Same(u.Host, "fleet --json", 301, count(u.Expect(0, "fleet", "--json").Stdout))
		e2e.Same(u.Host, "fleet, with the numbers of two rings", 302+4, strings.Count(u.Expect(0, "fleet").Stdout, "\n"))
		e2e.Same(u.Host, "fleet --ring", 2, strings.Count(u.Expect(0, "fleet", "--ring", "canary").Stdout, "\n"))
		u.Expect(2, "fleet", "--state", "sleepy")
		if up != nil {
			e2e.Same(u.Host, "one warning", 1, len(up.Events("more hosts than serve.max_hosts poll with one id: the others are not shown, and their refusals do not count")))
			u.checkLog(up)
			up.Terminate()
			up = nil // and again without a daemon
		}
	}
}
