package rings

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/report"
	"syncd/internal/report/request"
)

// invented is how many hosts an ID makes up.
func invented() int {
	if os.Getenv("SYNCD_TORTURE") == "full" {
		return 200_000
	}
	return 20_000
}

func (w *world) invent(n int) Asker {
	return w.Asker("evil", "canary", http.Header{HeaderState: {fmt.Sprintf("host=h%d; id=1; release=2026.10", n)}})
}

// 200,000 hosts of one ID cost 450 MiB, and a second of CPU for each scrape.
func TestAnIDHasABoundedNumberOfHosts(t *testing.T) {
	w := newWorld(t, canary, Ring{Name: "rest", StopAbove: 0})
	real := w.Asker("evil", "canary", http.Header{HeaderState: {"host=real; id=1; release=2026.10"}})
	w.Seen(real, "data")
	w.poll("canary", 1, takes)
	for n := range invented() {
		w.Seen(w.invent(n), "data", "more")
	}
	if len(w.accounts["evil"].hosts) != w.most || w.count > 2*w.most || len(w.changed) > 2*w.most+len(w.heard) {
		t.Errorf("%d hosts, %d reports, %d to be saved", len(w.accounts["evil"].hosts), w.count, len(w.changed))
	}
	hosts := 0
	for c, n := range w.Counts() {
		if hosts += n; c.Ring != "canary" {
			t.Errorf("%+v", c)
		}
	}
	if hosts != w.most+1 {
		t.Errorf("%d hosts are counted", hosts)
	}
	w.Seen(w.Asker("evil", "canary", http.Header{"User-Agent": {"curl/8"}}), "data") // always has a place
	if w.get("evil", follower{Manifest: "data"}) == nil {
		t.Error("a client that tells nothing is not shown")
	}

	// A host that polls keeps its place, and its refusal counts.
	w.time = start.Add(silentAfter)
	w.Seen(real, "data")
	w.time = w.time.Add(time.Minute)
	w.Seen(w.invent(invented()), "data")
	if w.get("evil", follower{host{"real", "1"}, "data"}) == nil || w.get("evil", follower{host{fmt.Sprint("h", invented()), "1"}, "data"}) == nil {
		t.Error("a host that is silent for long does not give way, or one that polls does")
	}
	w.Seen(w.Asker("evil", "canary", http.Header{HeaderState: {"host=real; id=1; release=2026.10; refused=2026.11; reason=gate"}}), "data")
	if len(w.Status().Stopped) != 1 {
		t.Error("the refusal of a host that is known does not count")
	}
	w.Name(map[string]string{"canary-1": "canary"})
	if w.count != 1 {
		t.Errorf("%d reports after the ID was removed", w.count)
	}
}

// An earlier version saved any number of hosts.
func TestAStateWithInventedHostsIsTrimmed(t *testing.T) {
	w := newWorld(t, canary)
	entries := map[string]any{}
	flush := func() {
		if err := w.store.SetFleet(entries); err != nil {
			t.Fatal(err)
		}
		clear(entries)
	}
	for n := range invented() {
		k := follower{host{fmt.Sprint("h", n), "1"}, "data"}
		entries[reportKey("evil", k)] = savedReport{Ring: "canary", Release: "2026.10", SeenAt: start.Add(time.Duration(n-invented()) * time.Second)}
		if len(entries) == maxBatch {
			flush()
		}
	}
	entries[reportKey("good", follower{host{"db01", "1"}, "data"})] = savedReport{Ring: "canary", Release: "2026.10", SeenAt: start}
	flush()
	w.restart(canary)
	if w.count != w.most+1 || len(w.changed) != 0 {
		t.Errorf("%d reports, %d to be saved", w.count, len(w.changed))
	}
	if w.get("evil", follower{host{fmt.Sprint("h", invented()-1), "1"}, "data"}) == nil || w.get("good", follower{host{"db01", "1"}, "data"}) == nil {
		t.Error("the host that polled last was dropped, or one of another ID")
	}
	before := w.Status()
	if err := w.Save(); err != nil {
		t.Fatal(err)
	}
	saved := 0
	if err := w.store.Fleet(func(string, json.RawMessage) error { saved++; return nil }); err != nil || saved != w.count {
		t.Errorf("the state has %d reports, %v", saved, err)
	}
	w.most = 10
	w.restart(canary)
	if len(w.Status().Followers) != 11 {
		t.Errorf("%d followers with a lower limit", len(w.Status().Followers))
	}
	w.most = 1000
	w.restart(canary)
	if diff := cmp.Diff(before, w.Status()); diff != "" {
		t.Error(diff)
	}
}

func TestAPageIsBoundedAndHasWhatFits(t *testing.T) {
	w := newWorld(t, canary, rest)
	for id := range 3 {
		for n := range 999 {
			told := "; release=2026.11"
			if n%10 == 0 {
				told = refuses
			}
			header := http.Header{HeaderState: {fmt.Sprintf("host=h%03d; id=1%s", n, told)}}
			w.Seen(w.Asker(fmt.Sprint("id", id), []string{"canary", "rest"}[id%2], header), "data", "more")
		}
	}
	for name, row := range map[string]struct {
		req  request.Fleet
		want int
	}{
		"all":              {request.Fleet{}, 3 * 999},
		"a ring":           {request.Fleet{Ring: "rest"}, 999},
		"a state":          {request.Fleet{State: string(report.FollowerRefused)}, 300},
		"a release":        {request.Fleet{Release: "2026.11", Ring: "canary"}, 2 * 999},
		"nothing":          {request.Fleet{Ring: "none"}, 0},
		"from the last on": {request.Fleet{After: &request.Follower{Name: "id2", Host: "h998", Instance: "1"}}, 0},
		"from a gone one":  {request.Fleet{After: &request.Follower{Name: "id2", Host: "h99", Instance: "1"}}, 9},
		"from a gone ID":   {request.Fleet{After: &request.Follower{Name: "id11"}}, 999},
	} {
		seen, pages := map[string]bool{}, 0
		for req := row.req; ; pages++ {
			page := w.Page(req)
			if len(page.Followers) > pageReports/2 {
				t.Errorf("%s: a page of %d", name, len(page.Followers))
			}
			for _, f := range page.Followers {
				seen[f.Name+"/"+f.Host] = true
			}
			if req.After = page.Next; page.Next == nil {
				break
			}
		}
		if len(seen) != row.want {
			t.Errorf("%s: %d followers on %d pages, want %d", name, len(seen), pages+1, row.want)
		}
	}
	first := w.Page(request.Fleet{})
	if first.Rings[0].Hosts != 2*999 || first.Rings[1].Hosts != 999 {
		t.Errorf("%+v", first.Rings)
	}
	view := w.Overview(150)
	if len(view.Worst) != 150 || view.Worst[149].State != report.FollowerRefused || view.States[report.FollowerRefused] != 300 {
		t.Errorf("%d, %+v", len(view.Worst), view.States)
	}
}

// A syncd that tells nothing is shown, but not beside itself.
func TestASyncdThatTellsNothingIsShown(t *testing.T) {
	w := newWorld(t, canary)
	silent := w.Asker("db01", "canary", http.Header{"User-Agent": {"syncd/1.2.3"}})
	states := func() (all []string) {
		for _, f := range w.Status().Followers {
			all = append(all, fmt.Sprintf("%s %s %s", f.Host, f.State, f.Version))
		}
		return all
	}
	w.Seen(silent, "data")
	if diff := cmp.Diff([]string{" unknown 1.2.3"}, states()); diff != "" {
		t.Error(diff)
	}
	w.Seen(w.Asker("db01", "canary", http.Header{"User-Agent": {"syncd/1.2.3"}, HeaderState: {"host=h; id=1; version=1.2.3; release=2026.11"}}), "data")
	w.Seen(silent, "data")
	if diff := cmp.Diff([]string{"h in_sync 1.2.3"}, states()); diff != "" {
		t.Error(diff)
	}
	w.Seen(w.Asker("db01", "canary", http.Header{"User-Agent": {"curl/8"}}), "data")
	if diff := cmp.Diff([]string{" unknown ", "h in_sync 1.2.3"}, states()); diff != "" {
		t.Error(diff)
	}
}
