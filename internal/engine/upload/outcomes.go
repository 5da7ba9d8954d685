package upload

import (
	"strings"
	"sync"
	"time"

	"syncd/internal/config"
	"syncd/internal/report"
	"syncd/internal/report/status"
	"syncd/internal/store"
)

// outcomes keeps the outcome of the last attempt to publish to a place.
type outcomes struct {
	place string
	store *store.Store

	mu sync.Mutex // guards the change of what is in the store
}

// keep saves an outcome. One that says nothing new is not written, because most polls
// have no news.
func (p *outcomes) keep(done report.Upload, at time.Time) error {
	return p.change(func(known store.Upload) store.Upload { return after(known, done, at) })
}

// keepCollection saves the outcome of a collection; err is "" if it did not fail.
func (p *outcomes) keepCollection(err string, at time.Time) error {
	return p.change(func(known store.Upload) store.Upload {
		if err == "" {
			known.CollectionFailingSince = time.Time{}
		} else if known.CollectionError == "" {
			known.CollectionFailingSince = at.UTC()
		}
		known.CollectionError = err
		return known
	})
}

func (p *outcomes) change(change func(known store.Upload) store.Upload) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, err := p.store.Upload()
	if err != nil {
		return err
	}
	known := before
	if known.Place != p.place {
		known = store.Upload{Place: p.place}
	}
	if now := change(known); now != before {
		return p.store.SetUpload(now)
	}
	return nil
}

// after is what is known of a place once an attempt ended.
func after(known store.Upload, done report.Upload, at time.Time) store.Upload {
	if done.Result == report.UploadFailed {
		if known.Error == "" {
			known.FailingSince = at.UTC()
		}
		known.Error = done.Error
		return known
	}
	if c := done.Verification; c != nil {
		known.Verified = store.UploadCheck{At: at.UTC(), Objects: c.Objects, Bytes: c.Bytes, Found: c.Missing + c.Damaged, Repaired: c.Repaired}
		if c.Left() > 0 {
			known.Verified.First = c.Damage[0].String()
		}
		return known
	}
	known.Standby, known.Error, known.FailingSince = done.Result == report.Standby, "", time.Time{}
	if done.Result == report.Uploaded {
		known.PublishedAt = at.UTC()
	}
	if !known.Standby {
		known.Generation, known.Shown = done.Generation, done.Served
		known.Publisher, known.WrittenAt, known.Superseded, known.Kept = done.Publisher, done.PublishedAt.UTC(), done.Superseded, strings.Join(done.Kept, ",")
		known.SignedOrigin, known.SignedBy, known.SignedUntil, known.SignaturesMissing, known.TrustVersion = "", "", time.Time{}, 0, 0
		if s := done.Signed; s != nil {
			known.SignedOrigin, known.SignedBy, known.SignedUntil, known.SignaturesMissing, known.TrustVersion = s.Origin, strings.Join(s.By, ","), s.Expires.UTC(), s.Missing, s.Trust
		}
		if !done.Superseded || len(done.Kept) > 0 { // or else another publisher's epoch
			if done.Began > known.Began {
				known.Began, known.Epoch = done.Began, 0
			}
			known.Epoch = max(known.Epoch, done.Epoch)
		}
	}
	return known
}

// last is what the state knows of a place.
func (u *Uploader) last(place string) store.Upload {
	known, err := u.cfg.Store.Upload()
	if err != nil {
		u.cfg.Log.Warn().Err(err).Msg("reading the state failed: metrics start without earlier publications")
	}
	if known.Place != place {
		return store.Upload{}
	}
	return known
}

// Status is the status of publishing, nil without a place.
func (u *Uploader) Status(served int) (*report.UploadStatus, error) {
	p := u.inForce.Load()
	if p == nil {
		return nil, nil
	}
	known, err := u.cfg.Store.Upload()
	var election *report.ElectionStatus
	if p.settings.election.Lease > 0 {
		holder, leads := p.Holder()
		election = &report.ElectionStatus{Leads: leads, Holder: holder}
	}
	shown := status.Upload(known, placeOf(p.settings.publish), served, election)
	shown.Retry = p.retries.shown()
	return shown, err
}

// StatusOnDisk is the status of publishing when no engine is running; state is nil
// when there is no state database.
func StatusOnDisk(cfg *config.Config, state status.StateReader, served int) (_ *report.UploadStatus, err error) {
	if !cfg.Publish.S3.IsSet() {
		return nil, nil
	}
	var known store.Upload
	if state != nil {
		known, err = state.Upload()
	}
	var election *report.ElectionStatus
	if cfg.Election.Lease > 0 {
		election = &report.ElectionStatus{}
	}
	return status.Upload(known, placeOf(cfg.Publish), served, election), err
}

func placeOf(p config.Publish) string { return p.S3.URL().Redacted() }
