package status

import (
	"testing"
	"time"

	"syncd/internal/report"
	"syncd/internal/store"
)

func TestStatusSaysSinceWhenTheProviderIsUnreachable(t *testing.T) {
	first := time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)
	later := first.Add(time.Hour)
	unanswered, refused := &store.Failure{Unanswered: first}, &store.Failure{Reason: "shrink"}
	running := func(phase string, retry *report.Retry) *report.ManifestProgress {
		return &report.ManifestProgress{Phase: phase, Retry: retry}
	}
	for name, row := range map[string]struct {
		failure *store.Failure
		running *report.ManifestProgress
		want    time.Time // zero while it answers
	}{
		"nothing failed":                      {},
		"another failure":                     {failure: refused},
		"the last sync got no answer":         {failure: unanswered, want: first},
		"the next sync asks":                  {unanswered, running(report.PhaseChecking, nil), first},
		"the next sync has no answer either":  {unanswered, running(report.PhaseChecking, &report.Retry{Since: later}), first},
		"the next sync gets files":            {unanswered, running(report.PhaseDownloading, nil), time.Time{}},
		"the next sync gets an error":         {unanswered, running(report.PhaseChecking, &report.Retry{Since: later, Status: 503}), time.Time{}},
		"a first sync has no answer":          {nil, running(report.PhaseChecking, &report.Retry{Since: later}), later},
		"a download has no answer":            {refused, running(report.PhaseDownloading, &report.Retry{Since: later}), later},
		"a sync after another failure begins": {refused, running(report.PhaseChecking, nil), time.Time{}},
	} {
		got := unreachableSince(row.failure, row.running)
		if (got == nil) != row.want.IsZero() || got != nil && !got.Equal(row.want) {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}
