package upload

import (
	"errors"
	"strings"
	"sync"
	"time"

	"syncd/internal/config"
	"syncd/internal/config/place"
	"syncd/internal/report"
	"syncd/internal/report/status"
	"syncd/internal/store"
)

// outcomes keeps the outcome of the last attempt to publish to a place.
type outcomes struct {
	place string
	store store.Uploads

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
	before, err := p.store.To(p.place)
	if err != nil {
		return err
	}
	known := before
	known.Place = p.place
	if now := change(known); now != before {
		return p.store.Set(now)
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
		known.PublishedAt, known.Replaced = at.UTC(), done.Replaced
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
	known, err := u.cfg.Store.Uploads().To(place)
	if err != nil {
		u.cfg.Log.Warn().Err(err).Msg("reading the state failed: metrics start without earlier publications")
	}
	return known
}

// Status is the status of publishing, nil without a place.
func (u *Uploader) Status(served int) (*report.UploadStatus, error) {
	var errs []error
	var all []*report.UploadStatus
	for _, p := range u.publishers() {
		known, err := u.cfg.Store.Uploads().To(placeOf(p.settings.target))
		var election *report.ElectionStatus
		if p.settings.election.Lease > 0 {
			holder, leads := p.Holder()
			election = &report.ElectionStatus{Leads: leads, Holder: holder}
		}
		shown := statusOf(p.settings.target, known, served, election)
		shown.Retry = p.retries.shown()
		all, errs = append(all, shown), append(errs, err)
	}
	return sumOf(all), errors.Join(errs...)
}

// StatusOnDisk is the status of publishing when no engine is running; state is nil
// when there is no state database.
func StatusOnDisk(cfg *config.Config, state status.StateReader, served int) (*report.UploadStatus, error) {
	var errs []error
	var all []*report.UploadStatus
	for _, t := range cfg.Publish.Targets {
		var known store.Upload
		if state != nil {
			var err error
			known, err = state.Uploads().To(placeOf(t))
			errs = append(errs, err)
		}
		var election *report.ElectionStatus
		if cfg.Election.Lease > 0 {
			election = &report.ElectionStatus{}
		}
		all = append(all, statusOf(t, known, served, election))
	}
	return sumOf(all), errors.Join(errs...)
}

func statusOf(t place.Target, known store.Upload, served int, election *report.ElectionStatus) *report.UploadStatus {
	shown := status.Upload(known, placeOf(t), served, election)
	shown.Target = t.Name
	return shown
}

// sumOf is the status of all places; nil for none.
func sumOf(all []*report.UploadStatus) *report.UploadStatus {
	switch {
	case len(all) == 0:
		return nil
	case len(all) == 1 && all[0].Target == "":
		return all[0]
	}
	return report.SumStatus(all)
}

func placeOf(t place.Target) string { return t.URL().Redacted() }
