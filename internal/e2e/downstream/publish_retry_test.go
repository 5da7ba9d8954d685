package downstream_test

import (
	"strings"
	"syscall"
	"testing"

	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/e2e"
)

func TestRetriesAtABucketAreTold(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, "m")
	p.Settings.Elapsed = "10m"
	p.publishWith("")
	p.Month("m", "2026.09", "september")
	p.front.Answer(buckettest.SlowDown)
	daemon := p.Daemon()
	told := daemon.Logged("a request to the bucket failed; trying again")
	e2e.Same(p.Host, "level and attempt", []any{"warn", 1.0}, []any{told["level"], told["attempt"]})
	p.Contains("log", told["error"].(string), "reduce your request rate")
	p.Eventually("explain tells the retry", func() bool {
		return strings.Contains(p.Expect(0, "explain").Stdout, "a request there is repeated: attempt ")
	})
	_, page := daemon.Get("/")
	p.Contains("page", page, "a request there is repeated: attempt ")
	_, status := daemon.Get("/api/v1/status")
	p.Contains("status", status, `"retry":{"error":"`, `"next_at":"`)

	p.front.Answer(nil)
	daemon.Logged("sync")
	_, status = daemon.Get("/api/v1/status")
	if strings.Contains(status, `"retry"`) {
		t.Errorf("the retry is over, but the status has it: %s", status)
	}
	daemon.Signal(syscall.SIGUSR1)
	daemon.LoggedTimes("sync", 2)
	e2e.Same(p.Host, "lines about retries", 1, len(daemon.Events("a request to the bucket failed; trying again")))
	daemon.Terminate()
}
