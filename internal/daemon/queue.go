package daemon

import (
	"maps"
	"slices"

	"syncd/internal/report/request"
)

// queue holds the manifests that wait for a sync. It belongs to the loop.
type queue struct {
	waiting map[string]wish
}

// wish is the sync that a manifest waits for.
type wish struct {
	demand, force bool
	trigger       string
}

// newQueue returns a queue in which all manifests are due for the start.
func newQueue(names []string) *queue {
	q := &queue{waiting: map[string]wish{}}
	q.due(names, request.TriggerStart)
	return q
}

// due adds manifests that are due by the schedule, at start or after a reload. One that
// waits already gets its sync by that.
func (q *queue) due(names []string, trigger string) {
	for _, name := range names {
		if _, waits := q.waiting[name]; !waits {
			q.waiting[name] = wish{trigger: trigger}
		}
	}
}

// add merges a request on demand for the named manifests into what waits.
func (q *queue) add(req request.Sync, names []string) {
	for _, name := range names {
		w := q.waiting[name]
		if !w.demand {
			w.trigger = req.Trigger
		}
		w.demand, w.force = true, w.force || req.Force
		q.waiting[name] = w
	}
}

// next removes and returns a request for manifests that are free: all that wait for the
// same kind of sync, those on demand first. The others keep waiting.
func (q *queue) next(isFree func(name string) bool) (request.Sync, bool) {
	var names []string
	var chosen wish
	for _, name := range slices.Sorted(maps.Keys(q.waiting)) {
		w := q.waiting[name]
		if !isFree(name) {
			continue
		}
		if len(names) == 0 || w.demand && !chosen.demand {
			names, chosen = nil, w
		}
		if w == chosen {
			names = append(names, name)
		}
	}
	for _, name := range names {
		delete(q.waiting, name)
	}
	return request.Sync{Manifests: names, Demand: chosen.demand, Force: chosen.force, Trigger: chosen.trigger, SkipUnknown: true}, len(names) > 0
}
