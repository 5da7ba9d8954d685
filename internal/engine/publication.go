package engine

import (
	"sync"
	"time"

	"syncd/internal/config"
	"syncd/internal/report"
	"syncd/internal/report/status"
	"syncd/internal/store"
)

// publications keeps the outcome of the last attempt to publish to a place.
type publications struct {
	place string
	store *store.Store

	mu sync.Mutex // guards the change of what is in the store
}

// keep saves an outcome. One that says nothing new is not written, because most polls
// have no news.
func (p *publications) keep(done report.Publication, at time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, err := p.store.Publication()
	if err != nil {
		return err
	}
	if now := after(before, p.place, done, at); now != before {
		return p.store.SetPublication(now)
	}
	return nil
}

// after is what is known of a place once an attempt ended.
func after(known store.Publication, place string, done report.Publication, at time.Time) store.Publication {
	if known.Place != place {
		known = store.Publication{Place: place}
	}
	if done.Result == report.PublishFailed {
		if known.Error == "" {
			known.FailingSince = at.UTC()
		}
		known.Error = done.Error
		return known
	}
	known.Standby, known.Error, known.FailingSince = done.Result == report.Standby, "", time.Time{}
	if done.Result == report.Published {
		known.PublishedAt = at.UTC()
	}
	if !known.Standby {
		known.Generation, known.Shown = done.Generation, done.Served
	}
	return known
}

// publishedTo is what the state knows of a place.
func (u uploads) publishedTo(place string) store.Publication {
	known, err := u.store.Publication()
	if err != nil {
		u.options.Log.Warn().Err(err).Msg("reading the state failed: metrics start without earlier publications")
	}
	if known.Place != place {
		return store.Publication{}
	}
	return known
}

// status is the status of publishing, nil without a place.
func (u uploads) status(served int) (*report.PublishStatus, error) {
	p := u.active.Load().publisher
	if p == nil {
		return nil, nil
	}
	known, err := u.store.Publication()
	var election *report.ElectionStatus
	if p.settings.election.Lease > 0 {
		holder, leads := p.Holder()
		election = &report.ElectionStatus{Leads: leads, Holder: holder}
	}
	return status.Publishing(known, placeOf(p.settings.publish), served, election), err
}

// publishStatusOnDisk is the status of publishing when no engine is running; state is nil
// when there is no state database.
func publishStatusOnDisk(cfg *config.Config, state status.StateReader, served int) (_ *report.PublishStatus, err error) {
	if !cfg.Publish.S3.IsSet() {
		return nil, nil
	}
	var known store.Publication
	if state != nil {
		known, err = state.Publication()
	}
	var election *report.ElectionStatus
	if cfg.Election.Lease > 0 {
		election = &report.ElectionStatus{}
	}
	return status.Publishing(known, placeOf(cfg.Publish), served, election), err
}

func placeOf(p config.Publish) string { return p.S3.URL().Redacted() }
