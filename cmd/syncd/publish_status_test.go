package main

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/emulator"
)

// publishStatus is the part of `status --json` about publishing.
type publishStatus struct {
	Place, State, Error, Explanation string
	Generation                       int
	PublishedAt                      *time.Time `json:"published_at"`
	FailingSince                     *time.Time `json:"failing_since"`
	Election                         *struct {
		Leads  bool
		Holder string
	}
}

func (h *host) publishStatus() publishStatus {
	h.Helper()
	var status struct{ Publish *publishStatus }
	h.must(json.Unmarshal([]byte(h.expect(0, "status", "--json").stdout), &status))
	if status.Publish == nil {
		h.Fatal("status says nothing of publishing")
	}
	return *status.Publish
}

func TestStatusSaysWhatIsPublished(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	place := p.front.Endpoint + "/" + buckettest.Bucket + "/mirror/"
	p.month("m", "2026.09", "september")
	before := p.publishStatus()
	same(p.host, "before", publishStatus{Place: place, State: "pending", Explanation: before.Explanation}, before)

	p.sync(0)
	good := p.publishStatus()
	same(p.host, "published", []any{"in_sync", 1, "", true}, []any{good.State, good.Generation, good.Error, good.PublishedAt != nil})
	p.contains("status", p.expect(0, "status").stdout, "publish: generation 1 in "+place+" shows what is served")
	p.sync(0)
	same(p.host, "after a sync without news", good, p.publishStatus())

	p.front.Answer(buckettest.SlowDown)
	p.month("m", "2026.10", "october")
	p.sync(1)
	failed := p.publishStatus()
	same(p.host, "failed", []any{"failed", 1, true, good.PublishedAt}, []any{failed.State, failed.Generation, failed.FailingSince != nil, failed.PublishedAt})
	p.contains("error", failed.Error, "reduce your request rate")
	p.sync(1)
	same(p.host, "failing since", failed.FailingSince, p.publishStatus().FailingSince)

	daemon := p.daemon() // another process knows it, too
	daemon.logged("sync")
	same(p.host, "failing since, as a metric", failed.FailingSince.UnixMilli(), daemon.milliseconds("syncd_publish_failing_since_timestamp_seconds"))
	_, page := daemon.get("/")
	p.contains("page", page, `<h2 id="publish">Object storage</h2>`, "followers keep generation 1", "<title>(1) syncd</title>")
	p.front.Answer(nil)
	daemon.signal(syscall.SIGUSR1)
	daemon.loggedTimes("sync", 2)
	now := p.publishStatus()
	same(p.host, "mended", []any{"in_sync", 2, "", true}, []any{now.State, now.Generation, now.Error, now.FailingSince == nil})
	p.contains("explain", p.expect(0, "explain").stdout, "publish: generation 2 in ")
	daemon.terminate()

	p.settings.more = strings.Replace(p.settings.more, "mirror/", "other/", 1)
	p.configure()
	same(p.host, "of another place", "pending", p.publishStatus().State)
}

// milliseconds is the time that a series without labels shows.
func (p *process) milliseconds(series string) int64 {
	p.h.Helper()
	_, text := p.get("/metrics")
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, series+" "); found {
			seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			p.h.must(err)
			return int64(math.Round(seconds * 1000))
		}
	}
	p.h.Fatalf("no %s", series)
	return 0
}

func TestStatusSaysWhoHoldsTheLease(t *testing.T) {
	t.Parallel()
	a := newPublisher(t, "m")
	b := publisherOf(newHostOf(t, a.provider, "m"), a.store)
	a.provider.SetManifest("m", "2026.10", emulator.File{Name: "m.dat", Content: emulator.Text("x")})
	a.publishWith("election: {lease: 10s}")
	b.publishWith("election: {lease: 10s}")
	first := a.daemon()
	first.logged("published to the bucket")
	first.logged("sync")
	second := b.daemon()
	second.logged("sync")
	leads, waits := a.publishStatus(), b.publishStatus()
	holder := a.lease().Holder
	same(a.host, "leader", []any{"in_sync", true, holder}, []any{leads.State, leads.Election.Leads, leads.Election.Holder})
	same(a.host, "standby", []any{"standby", false, holder}, []any{waits.State, waits.Election.Leads, waits.Election.Holder})
	a.contains("leader", leads.Explanation, "this host holds the lease")
	a.contains("standby", waits.Explanation, "on standby", holder+" holds the lease")
	first.terminate()
	second.terminate()
}
