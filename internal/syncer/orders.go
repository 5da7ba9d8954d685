package syncer

import (
	"time"

	"syncd/internal/mirror"
)

// ordersKeep is true when an order keeps a manifest from the chosen release.
func (r *run) ordersKeep(j *job) bool {
	orders := j.active.Orders
	return !r.req.Force && !r.source.AllOrNothing() && orders.Holds(r.started) || j.served && j.release != j.active.Release && orders.Skips(j.release)
}

// newOrdersKeep is true if orders came while the sync ran that keep a ready job from
// going on. Such a hold also binds a forced sync.
func (r *run) newOrdersKeep(j *job, served mirror.Record) bool {
	before, now := j.active.Orders, served.Orders
	return !before.Equal(now) &&
		(now.Holds(time.Now()) || now.Skips(j.release) || now.Pin != before.Pin && now.Pin != j.release)
}
