package web

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"syncd/internal/report"
)

// manyHosts are followers in three rings. Two of three thousand canaries refused the release.
func manyHosts(many int) *scene {
	s := *scenes()["followers"]
	s.fleet = &report.FleetStatus{
		Rings:   []report.RingStatus{{Name: "canary"}, {Name: "early"}, {Name: "rest"}},
		Waiting: []report.WaitingRing{{Manifest: "dq_addr_data", Release: "2026.11", Ring: "rest", For: "early", Proven: 2, Of: 3333, NeedsHosts: 3, NeedsShare: 0.8, Since: *ago(0), Overdue: true}},
	}
	for n := range many {
		f := report.FollowerStatus{Name: "eu", Host: fmt.Sprintf("db%05d", n), Instance: "1", Ring: []string{"canary", "early", "rest"}[n%3], LastSeen: *ago(0)}
		f.Following = report.Following{Release: "2026.11", State: report.FollowerInSync}
		switch {
		case n == 3 || n == 6:
			f.Following = report.Following{Release: "2026.10", State: report.FollowerRefused, Refused: "2026.11", Reason: "gate"}
		case n%3 == 2:
			f.Release = "2026.10"
		}
		s.fleet.Followers = append(s.fleet.Followers, f)
	}
	return &s
}

func get(s *scene, path string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	Handler(s, prometheus.NewRegistry()).ServeHTTP(rec, httptest.NewRequest("GET", "http://127.0.0.1"+path, nil))
	return rec
}

func TestThePageOfFollowersIsAsLongForAnyFleet(t *testing.T) {
	s := manyHosts(10_000)
	body := get(s, "/fleet").Body.String()
	if len(body) > 100<<10 {
		t.Errorf("the page has %d bytes", len(body))
	}
	for _, want := range []string{
		"10000 followers", "ring rest waits for 2026.11", "2 of 3333 hosts of ring early", "80 % and at least 3 are needed", "syncd fleet release 2026.11",
		`href="/fleet?release=2026.10&amp;ring=canary&amp;state=refused"`, ">2</a>", ">3333</a>", "db00099", `href="/fleet?after=eu%2Fdb00099%2F1"`,
	} {
		if !strings.Contains(strings.ToLower(body), strings.ToLower(want)) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(body, "db00100") {
		t.Error("more than a page of hosts")
	}
	next := get(s, "/fleet?after=eu%2Fdb00099%2F1").Body.String()
	if !strings.Contains(next, "db00100") || !strings.Contains(next, "db00199") || strings.Contains(next, "db00200") || !strings.Contains(next, "10000 followers") {
		t.Error("the second page")
	}
	few := get(s, "/fleet?ring=canary&state=refused").Body.String()
	if !strings.Contains(few, "2 followers of ring canary, refused") || !strings.Contains(few, "db00003") || strings.Contains(few, "db00009") || strings.Contains(few, "Next") {
		t.Error(few)
	}
	if home := get(s, "/").Body.String(); len(home) > 200<<10 || !strings.Contains(home, `<a href="/fleet">`) || !strings.Contains(home, "ring rest waits for 2026.11") && !strings.Contains(home, "Ring rest waits for 2026.11") {
		t.Errorf("the status page has %d bytes", len(home))
	}
}

func TestTheAPIHasPagesOfFollowers(t *testing.T) {
	s := manyHosts(250)
	var page struct {
		Followers []report.FollowerStatus
		Counts    []report.FleetCount
		Waiting   []report.WaitingRing
		Next      *string
	}
	seen, after, pages := map[string]bool{}, "", 0
	for ; ; pages++ {
		page.Followers, page.Next = nil, nil
		if err := json.Unmarshal(get(s, "/api/v1/fleet?ring=rest&limit=50&after="+after).Body.Bytes(), &page); err != nil {
			t.Fatal(err)
		}
		for _, f := range page.Followers {
			seen[f.Host] = true
		}
		if page.Next == nil {
			break
		}
		after = *page.Next
	}
	if len(seen) != 83 || pages != 1 || len(page.Counts) != 1 || len(page.Waiting) != 1 {
		t.Errorf("%d hosts on %d pages, %+v", len(seen), pages+1, page)
	}
	for _, bad := range []string{"limit=0", "limit=x", "limit=100000", "after=db01"} {
		if code := get(s, "/api/v1/fleet?"+bad).Code; code != 400 {
			t.Errorf("%s: %d", bad, code)
		}
		if code := get(s, "/fleet?"+bad).Code; code != 400 {
			t.Errorf("%s of the page: %d", bad, code)
		}
	}
	if code := get(scenes()["idle"], "/fleet").Code; code != 404 {
		t.Errorf("a host without followers: %d", code)
	}
}

func TestTextsOfHostsStayText(t *testing.T) {
	s := manyHosts(2)
	s.fleet.Followers[0].Host, s.fleet.Followers[1].Ring = `<script>alert(1)</script>`, `"><b>`
	body := get(s, "/fleet?release=%22%3E%3Cb%3E").Body.String() + get(s, "/fleet").Body.String()
	if strings.Contains(body, "<script>") || strings.Contains(body, "<b>") {
		t.Error(body)
	}
}

func TestTheFollowersInABrowser(t *testing.T) {
	b := openBrowser(t)
	site := httptest.NewServer(handlerOf(manyHosts(10_000)))
	t.Cleanup(site.Close)
	b.visit(site.URL + "/fleet")
	rows := func(want int) string {
		return fmt.Sprintf(`document.querySelectorAll("table:last-of-type tbody tr").length && document.querySelectorAll("[aria-labelledby=hosts] tbody tr").length === %d`, want)
	}
	b.until("the first page", rows(100))
	b.until("no sideways scrolling", `document.documentElement.scrollWidth <= window.innerWidth`)
	must(t, b.eval(`document.querySelector("a[rel=next]").click(), true`, new(bool)))
	b.until("the second page", `location.search.includes("after=") && document.body.textContent.includes("db00199")`)
	must(t, b.eval(`document.querySelector("a[href*='state=refused']").click(), true`, new(bool)))
	b.until("the hosts that refused", `location.search.includes("state=refused") && `+rows(2))
	must(t, b.eval(`document.querySelector("select[name=state]").value = "in_sync", document.querySelector("input[name=release]").value = "", document.querySelector(".choice button").click(), true`, new(bool)))
	b.until("a choice by hand", `location.search.includes("state=in_sync") && `+rows(100))
}
