package upload

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/clients/certificate"
	"syncd/internal/config"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher"
	"syncd/internal/downstream/trust"
	"syncd/internal/host/rate"
	"syncd/internal/manifest/destruction"
	"syncd/internal/metrics"
	"syncd/internal/metrics/tracing"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// errNoPlace says that there is nowhere to publish to.
var errNoPlace = errors.New("publish.s3 is not in the configuration: say there where this host publishes")

// Config is what New needs; every field is required.
type Config struct {
	Served    publisher.Mirror // as other hosts may see it
	Mirror    *mirror.Mirror
	Store     *store.Store
	Metrics   *metrics.Metrics
	Log       zerolog.Logger
	Version   string
	ScrubRate *rate.Budget

	Config func() *config.Config                   // in force
	Order  func(manifest string) destruction.Order // that followers get

	Patches publisher.Patches
}

// Uploader publishes to the place of the configuration in force. Safe for concurrent use.
type Uploader struct {
	cfg     Config
	inForce atomic.Pointer[Publisher] // nil without a place
}

// New returns an Uploader without a place: see Use.
func New(cfg Config) *Uploader { return &Uploader{cfg: cfg} }

// Publisher is the publisher of a configuration with the settings that it was made with.
type Publisher struct {
	*publisher.Publisher
	settings settings
	retries  *retries
	signer   *trust.Signer // nil signs nothing
}

// settings are the settings of a publisher: another one is made when they change.
type settings struct {
	publish  config.Publish
	election config.Election
	source   config.Source // for its ca_file and its patience
	signing  string        // identifies the key and the trust text, "" for none
}

// Prepare returns the publisher of a configuration: that in force, a new one, or
// nil for none.
func (u *Uploader) Prepare(cfg *config.Config, signer *trust.Signer) (*Publisher, error) {
	if !cfg.Publish.S3.IsSet() {
		return nil, nil
	}
	source := config.Source{Connection: config.Connection{CAFile: cfg.Source.CAFile, StallTimeout: cfg.Source.StallTimeout, Retry: cfg.Source.Retry}}
	settings := settings{cfg.Publish, cfg.Election, source, ""}
	if signer != nil {
		settings.signing = fmt.Sprintf("%s %s %s", signer.Key(), signer.Valid(), signer.Chain().Newest().Fingerprint())
		if cfg.Election.Lease > 0 && signer.Chain().Newest().Threshold > 1 {
			return nil, cfg.At("election").Error(cfg.Path, "lets one publisher write, but the trust text asks for signatures of several", "remove it: publishers without an election do not cross either")
		}
	}
	if before := u.inForce.Load(); before != nil && reflect.DeepEqual(before.settings, settings) {
		return before, nil
	}
	place, err := Place(cfg)
	if err != nil {
		return nil, err
	}
	retries := &retries{log: u.cfg.Log}
	place.Tell = retries.tell
	outcomes := &outcomes{place: placeOf(cfg.Publish), store: u.cfg.Store}
	known := u.last(outcomes.place)
	p, err := publisher.New(publisher.Config{
		Place: place, Grace: cfg.Publish.Grace, Lease: cfg.Election.Lease, Mirror: u.cfg.Served, Objects: u.cfg.Mirror.Objects, Observer: u.cfg.Metrics, Revision: u.cfg.Mirror.Records.Revision, Memory: u.cfg.Store, Keep: outcomes.keep, KeepCollection: outcomes.keepCollection, MustCollect: known.CollectionError != "", Log: u.cfg.Log,
		Configured: func(name string) bool { return u.cfg.Config().Has(name) }, Order: u.cfg.Order, Version: u.cfg.Version, Recheck: cfg.RecheckInterval,
		Signer: signer, Patches: u.cfg.Patches,
		Past: publisher.Past{Began: known.Began, Epoch: known.Epoch, Generation: known.Generation, Wrote: !known.PublishedAt.IsZero()},
	})
	return &Publisher{p, settings, retries, signer}, err
}

// Place is the place of publish.s3.
func Place(cfg *config.Config) (objectstore.Place, error) {
	roots, err := certificate.Roots(cfg.Source.CAFile)
	s3 := cfg.Publish.S3
	return objectstore.Place{
		Endpoint: s3.Endpoint, Bucket: s3.Bucket, Prefix: s3.Prefix, Region: s3.Region, Roots: roots,
		StallTimeout: cfg.Source.StallTimeout, Retry: objectstore.Retry(cfg.Source.Retry),
	}, err
}

// Use puts a publisher in force, nil for none. It ends the one of the configuration before.
// Others may hold that still: they get an error.
func (u *Uploader) Use(now *Publisher) {
	before := u.inForce.Swap(now)
	if before != nil && before != now {
		before.Close()
	}
	switch {
	case now == nil:
		u.cfg.Metrics.UploadsNothing()
	case now != before:
		known := u.last(placeOf(now.settings.publish))
		u.cfg.Metrics.UploadedBefore(known.Generation, known.FailingSince, known.CollectionFailingSince)
		u.cfg.Metrics.Verified(known.Verified.Found-known.Verified.Repaired, known.Verified.At)
	}
}

// Close ends the publisher in force.
func (u *Uploader) Close() {
	if p := u.inForce.Load(); p != nil {
		p.Close()
	}
}

// Upload publishes what is served, if a place is configured. nil means that there is no
// outcome.
func (u *Uploader) Upload(ctx context.Context) *report.Upload {
	p := u.inForce.Load()
	if p == nil {
		return nil
	}
	ctx, span := tracing.Start(ctx, "upload", "")
	done, err := p.Upload(ctx, publisher.Request{})
	span.End(err)
	if err != nil && ctx.Err() != nil {
		return nil // this process ends: the next sync publishes
	}
	return &done
}

// KeepSigned renews the statement about what is in the bucket until ctx ends. It needs no sync,
// because a statement must not expire where nothing is new.
func (u *Uploader) KeepSigned(ctx context.Context) {
	for {
		every := time.Minute // a configuration that signs may come
		if p := u.inForce.Load(); p != nil && p.signer != nil {
			every = min(every, p.signer.Valid()/16)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
		if p := u.inForce.Load(); p != nil && p.signer != nil && p.IsDue() {
			_, _ = p.Publisher.Upload(ctx, publisher.Request{}) // it has noted the outcome
		}
	}
}

// UploadDestroyed publishes what was destroyed, and removes it from the place. nil means that
// no place is configured.
func (u *Uploader) UploadDestroyed(ctx context.Context) *report.Upload {
	p := u.inForce.Load()
	if p == nil {
		return nil
	}
	done, err := p.Upload(ctx, publisher.Request{Collect: true})
	if err != nil && done.Error == "" {
		done.Result, done.Error = report.UploadFailed, report.OneLine(err.Error())
	}
	return &done
}

// Now does what `syncd publish` asks for, although no sync has run.
func (u *Uploader) Now(ctx context.Context, req request.Upload) (done report.Upload, err error) {
	p := u.inForce.Load()
	if p == nil {
		return done, errNoPlace
	}
	if !req.Verify && u.cfg.Mirror.Current().Number == 0 {
		return done, errors.New("nothing is served: run `syncd sync`")
	}
	if req.Verify {
		verify := publisher.Verify{Repair: req.Repair, Read: req.Read}
		if req.Paced {
			verify.Rate = u.cfg.ScrubRate
		}
		return p.Verify(ctx, verify)
	}
	return p.Upload(ctx, publisher.Request{DryRun: req.DryRun, Collect: req.Collect, Check: true, Force: req.Force})
}

// Verified is when the bucket was verified last; the zero time for never. It is false
// without a place to publish to.
func (u *Uploader) Verified() (at time.Time, hasPlace bool) {
	p := u.inForce.Load()
	if p == nil {
		return at, false
	}
	return u.last(placeOf(p.settings.publish)).Verified.At, true
}
