package daemon

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/report/request"
)

func allFree(string) bool { return true }

// drain takes requests from a queue until none is left.
func drain(q *queue, isFree func(string) bool) (all []request.Sync) {
	for req, ok := q.next(isFree); ok; req, ok = q.next(isFree) {
		all = append(all, req)
	}
	return all
}

func wantRequests(t *testing.T, got []request.Sync, want ...request.Sync) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
}

func TestRequestsOnDemandComeBeforeDueManifests(t *testing.T) {
	q := newQueue([]string{"b", "a"})
	q.add(request.Sync{Trigger: "api"}, []string{"x", "z"})
	q.add(request.Sync{Force: true, Trigger: "signal"}, []string{"y"})
	wantRequests(t, drain(q, allFree),
		request.Sync{Demand: true, Trigger: "api", Manifests: []string{"x", "z"}, SkipUnknown: true},
		request.Sync{Demand: true, Force: true, Trigger: "signal", Manifests: []string{"y"}, SkipUnknown: true},
		request.Sync{Trigger: "start", Manifests: []string{"a", "b"}, SkipUnknown: true})
}

func TestRequestsForTheSameManifestAreMerged(t *testing.T) {
	q := newQueue([]string{"x"})
	q.add(request.Sync{Trigger: "api"}, []string{"x"})
	q.add(request.Sync{Force: true, Trigger: "signal"}, []string{"x"})
	q.due([]string{"x"}, "schedule")
	wantRequests(t, drain(q, allFree), request.Sync{Demand: true, Force: true, Trigger: "api", Manifests: []string{"x"}, SkipUnknown: true})
}

func TestAManifestThatSyncsKeepsWaiting(t *testing.T) {
	q := newQueue(nil)
	q.add(request.Sync{Trigger: "api"}, []string{"busy", "free"})
	wantRequests(t, drain(q, func(name string) bool { return name == "free" }),
		request.Sync{Demand: true, Trigger: "api", Manifests: []string{"free"}, SkipUnknown: true})
	wantRequests(t, drain(q, allFree),
		request.Sync{Demand: true, Trigger: "api", Manifests: []string{"busy"}, SkipUnknown: true})
}
