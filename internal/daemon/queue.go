package daemon

import (
	"maps"
	"slices"

	"syncd/internal/request"
)

// queue holds the syncs that wait for the running one. It belongs to the loop.
type queue struct {
	due     map[string]bool // manifests that are due by the schedule, at start or after a reload
	trigger string          // of the sync of the due manifests
	demand  *request.Sync   // all requests on demand since the running sync began, merged
}

// newQueue returns a queue in which all manifests are due for the start.
func newQueue(names []string) *queue {
	q := &queue{due: map[string]bool{}, trigger: request.TriggerStart}
	for _, name := range names {
		q.due[name] = true
	}
	return q
}

// add merges a request on demand into the waiting one.
func (q *queue) add(req request.Sync) {
	if q.demand == nil {
		q.demand = &req
		return
	}
	q.demand.Force = q.demand.Force || req.Force
	if len(req.Manifests) == 0 || len(q.demand.Manifests) == 0 {
		q.demand.Manifests = nil // all
		return
	}
	for _, name := range req.Manifests { // no name twice, so that the queue stays bounded
		if !slices.Contains(q.demand.Manifests, name) {
			q.demand.Manifests = append(q.demand.Manifests, name)
		}
	}
}

// next removes and returns the next request: those on demand come first, then the
// manifests that are due.
func (q *queue) next() (request.Sync, bool) {
	if q.demand != nil {
		req := *q.demand
		q.demand, req.Queued = nil, true
		return req, true
	}
	if len(q.due) == 0 {
		return request.Sync{}, false
	}
	req := request.Sync{Manifests: slices.Sorted(maps.Keys(q.due)), Trigger: q.trigger, Queued: true}
	q.due, q.trigger = map[string]bool{}, request.TriggerSchedule
	return req, true
}
