package daemon

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/request"
)

func TestRequestsOnDemandComeBeforeDueManifests(t *testing.T) {
	q := &queue{due: map[string]bool{"b": true, "a": true}, trigger: "start"}
	q.add(request.Sync{Demand: true, Trigger: "api", Manifests: []string{"x"}})
	q.add(request.Sync{Demand: true, Force: true, Trigger: "signal", Manifests: []string{"y"}})
	first, _ := q.next()
	second, _ := q.next()
	_, more := q.next()
	want := []request.Sync{
		{Demand: true, Force: true, Trigger: "api", Manifests: []string{"x", "y"}, Queued: true},
		{Trigger: "start", Manifests: []string{"a", "b"}, Queued: true},
	}
	if diff := cmp.Diff(want, []request.Sync{first, second}); diff != "" || more {
		t.Errorf("taken (-want +got), more %v:\n%s", more, diff)
	}
	for range 1000 {
		q.add(request.Sync{Manifests: []string{"x", "y", "x"}})
	}
	if few, _ := q.next(); len(few.Manifests) > 3 {
		t.Errorf("a thousand requests keep %d names", len(few.Manifests))
	}
	q.add(request.Sync{Manifests: []string{"x"}})
	q.add(request.Sync{})
	if all, _ := q.next(); all.Manifests != nil {
		t.Errorf("one of them wanted all: %+v", all)
	}
}
