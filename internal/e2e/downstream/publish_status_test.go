package downstream_test

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/e2e"
	"syncd/internal/emulator"
	"syncd/internal/report"
)

// publishStatus is the part of `status --json` about publishing.
type publishStatus struct {
	Place, State, Error, Explanation string
	Generation                       int
	PublishedAt                      *time.Time `json:"published_at"`
	FailingSince                     *time.Time `json:"failing_since"`
	GenerationAt                     *time.Time `json:"generation_at"`
	Publisher                        string
	Kept                             []string
	Verification                     *report.UploadCheckStatus
	Election                         *struct {
		Leads  bool
		Holder string
	}
}

func publishStatusOf(h *e2e.Host) publishStatus {
	h.Helper()
	var status struct{ Publish *publishStatus }
	h.Must(json.Unmarshal([]byte(h.Expect(0, "status", "--json").Stdout), &status))
	if status.Publish == nil {
		h.Fatal("status says nothing of publishing")
	}
	return *status.Publish
}

func TestStatusSaysWhatIsPublished(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	place := p.front.Endpoint + "/" + buckettest.Bucket + "/mirror/"
	p.Month("m", "2026.09", "september")
	before := publishStatusOf(p.Host)
	e2e.Same(p.Host, "before", publishStatus{Place: place, State: "pending", Explanation: before.Explanation, Kept: []string{}}, before)

	p.Sync(0)
	good := publishStatusOf(p.Host)
	e2e.Same(p.Host, "published", []any{"in_sync", 1, "", true}, []any{good.State, good.Generation, good.Error, good.PublishedAt != nil})
	p.Contains("status", p.Expect(0, "status").Stdout, "publish: generation 1 in "+place+" shows what is served")
	p.Sync(0)
	e2e.Same(p.Host, "after a sync without news", good, publishStatusOf(p.Host))

	p.front.Answer(buckettest.SlowDown)
	p.Month("m", "2026.10", "october")
	p.Sync(1)
	failed := publishStatusOf(p.Host)
	e2e.Same(p.Host, "failed", []any{"failed", 1, true, good.PublishedAt}, []any{failed.State, failed.Generation, failed.FailingSince != nil, failed.PublishedAt})
	p.Contains("error", failed.Error, "reduce your request rate")
	p.Sync(1)
	e2e.Same(p.Host, "failing since", failed.FailingSince, publishStatusOf(p.Host).FailingSince)

	daemon := p.Daemon() // another process knows it, too
	daemon.Logged("sync")
	e2e.Same(p.Host, "failing since, as a metric", failed.FailingSince.UnixMilli(), milliseconds(daemon, "syncd_publish_failing_since_timestamp_seconds"))
	_, page := daemon.Get("/")
	p.Contains("page", page, `<h2 id="publish">Object storage</h2>`, "followers keep generation 1", "<title>1 of 1 current, bucket failed – syncd</title>")
	p.front.Answer(nil)
	daemon.Signal(syscall.SIGUSR1)
	daemon.LoggedTimes("sync", 2)
	now := publishStatusOf(p.Host)
	e2e.Same(p.Host, "mended", []any{"in_sync", 2, "", true}, []any{now.State, now.Generation, now.Error, now.FailingSince == nil})
	p.Contains("explain", p.Expect(0, "explain").Stdout, "publish: generation 2 in ")
	daemon.Terminate()

	p.ConfigureWith(strings.Replace(p.Settings.More, "mirror/", "other/", 1))
	e2e.Same(p.Host, "of another place", "pending", publishStatusOf(p.Host).State)
}

// milliseconds is the time that a series without labels shows.
func milliseconds(p *e2e.Process, series string) int64 {
	p.Host.Helper()
	_, text := p.Get("/metrics")
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, series+" "); found {
			seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			p.Host.Must(err)
			return int64(math.Round(seconds * 1000))
		}
	}
	p.Host.Fatalf("no %s", series)
	return 0
}

func TestStatusSaysWhoHoldsTheLease(t *testing.T) {
	t.Parallel()
	a := newPublisher(t, "m")
	b := publisherOf(e2e.NewHostOf(t, a.Provider, "m"), a.store)
	a.Provider.SetManifest("m", "2026.10", emulator.File{Name: "m.dat", Content: emulator.Text("x")})
	a.publishWith("election: {lease: 10s}")
	b.publishWith("election: {lease: 10s}")
	first := a.Daemon()
	first.Logged("published to the bucket")
	first.Logged("sync")
	second := b.SyncedDaemon()
	leads, waits := publishStatusOf(a.Host), publishStatusOf(b.Host)
	holder := a.lease().Holder
	e2e.Same(a.Host, "leader", []any{"in_sync", true, holder}, []any{leads.State, leads.Election.Leads, leads.Election.Holder})
	e2e.Same(a.Host, "standby", []any{"standby", false, holder}, []any{waits.State, waits.Election.Leads, waits.Election.Holder})
	a.Contains("leader", leads.Explanation, "this host holds the lease")
	a.Contains("standby", waits.Explanation, "on standby", holder+" holds the lease")
	first.Terminate()
	second.Terminate()
}
