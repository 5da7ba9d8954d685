package downstream_test

import (
	"os"
	"testing"

	"syncd/internal/e2e"
)

// A collection that fails shows in status and in the alert's series, also after a restart,
// although followers see what is served. A later one ends that.
func TestStatusTellsOfGarbageThatStays(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	p.Month("m", "2026.09", "september")
	p.Sync(0)
	generation := p.store.Path("mirror/generations/1.json")
	text, err := os.ReadFile(generation)
	p.Must(err)
	p.Month("m", "2026.10", "october")
	p.Must(os.WriteFile(generation, []byte("{}"), 0o600))
	p.Sync(0)
	failed := publishStatusOf(p.Host)
	e2e.Same(p.Host, "garbage stays", []any{"in_sync", 2, true}, []any{failed.State, failed.Generation, failed.FailingSince != nil})
	p.Contains("error", failed.Error, "nothing is deleted", "generations/1.json", "syncd publish --verify --repair")
	p.Contains("explanation", failed.Explanation, "shows what is served", "deleting garbage there fails since")
	p.Contains("publish --gc", p.Expect(1, "publish", "--gc").Stderr, "nothing is deleted")

	daemon := p.Daemon()
	e2e.Same(p.Host, "failing since, as a metric", failed.FailingSince.UnixMilli(), milliseconds(daemon, "syncd_publish_failing_since_timestamp_seconds"))
	p.Must(os.WriteFile(generation, text, 0o600))
	p.Expect(0, "publish", "--gc")
	good := publishStatusOf(p.Host)
	e2e.Same(p.Host, "garbage is gone", []any{"in_sync", "", true}, []any{good.State, good.Error, good.FailingSince == nil})
	e2e.Same(p.Host, "not failing, as a metric", int64(0), milliseconds(daemon, "syncd_publish_failing_since_timestamp_seconds"))
	daemon.Terminate()
}
