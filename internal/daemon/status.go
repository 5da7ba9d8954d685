package daemon

import (
	"time"

	"syncd/internal/host/clock"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// Status returns the status of each configured or served manifest, with the times of their
// next syncs.
func (d *Daemon) Status() (report.Status, error) {
	status, err := d.engine.Status()
	status.Daemon = true
	now := clock.Now()
	for i := range status.Manifests {
		if at, planned := d.timetable.due(status.Manifests[i].Name, now); planned {
			status.Manifests[i].NextSync = &at
		}
	}
	if next := d.scrubs.next(); status.Scrub != nil && !next.IsZero() {
		status.Scrub.Next = &next
	}
	status.Explain(time.Now())
	return status, err
}

// The engine answers the rest of what the web server asks.

// History returns the newest entries first, limit at most.
func (d *Daemon) History(limit int) (report.History, error) { return d.engine.History(limit) }

// DiskUse returns the space that the generations on disk take.
func (d *Daemon) DiskUse() (report.DiskUse, error) { return d.engine.DiskUse() }

// Ready is nil when every configured manifest is served, see engine.Engine.Ready.
func (d *Daemon) Ready(maxAge time.Duration) error { return d.engine.Ready(maxAge) }

// Followers shows the followers; nil if none are served.
func (d *Daemon) Followers(most int) *report.FleetOverview { return d.engine.Followers.Overview(most) }

// Fleet returns a page of the followers.
func (d *Daemon) Fleet(req request.Fleet) (report.FleetPage, error) {
	return d.engine.Followers.Page(req)
}
