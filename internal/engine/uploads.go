package engine

import (
	"context"
	"errors"
	"reflect"
	"time"

	"syncd/internal/clients/certificate"
	"syncd/internal/config"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher"
	"syncd/internal/host/rate"
	"syncd/internal/metrics/tracing"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// errNoPlace says that there is nowhere to publish to.
var errNoPlace = errors.New("publish.s3 is not in the configuration: say there where this host publishes")

// uploads publish to object storage.
type uploads struct {
	*base
	scrubRate *rate.Budget
}

// uploader is the publisher with the settings that it was made with.
type uploader struct {
	*publisher.Publisher
	settings uploadSettings
	retries  *uploadRetries
}

// uploadSettings are the settings of a publisher: another one is made when they change.
type uploadSettings struct {
	publish  config.Publish
	election config.Election
	source   config.Source // for its ca_file and its patience
}

// prepare returns the publisher of a configuration: that in force, a new one, or
// nil for none.
func (u uploads) prepare(cfg *config.Config) (*uploader, error) {
	if !cfg.Publish.S3.IsSet() {
		return nil, nil
	}
	source := config.Source{Connection: config.Connection{CAFile: cfg.Source.CAFile, StallTimeout: cfg.Source.StallTimeout, Retry: cfg.Source.Retry}}
	settings := uploadSettings{cfg.Publish, cfg.Election, source}
	if before := u.active.Load(); before != nil && before.publisher != nil && reflect.DeepEqual(before.publisher.settings, settings) {
		return before.publisher, nil
	}
	place, err := UploadPlace(cfg)
	if err != nil {
		return nil, err
	}
	retries := &uploadRetries{log: u.options.Log}
	place.Tell = retries.tell
	outcomes := &outcomes{place: placeOf(cfg.Publish), store: u.store}
	known := u.lastUpload(outcomes.place)
	p, err := publisher.New(publisher.Config{
		Place: place, Grace: cfg.Publish.Grace, Lease: cfg.Election.Lease, Mirror: withheld{u.mirror, u.notes}, Objects: u.mirror.Objects, Observer: u.metrics, Revision: u.mirror.Records.Revision, Memory: u.store, Keep: outcomes.keep, KeepCollection: outcomes.keepCollection, MustCollect: u.lastUpload(outcomes.place).CollectionError != "", Log: u.options.Log,
		Configured: func(name string) bool { return u.Config().Has(name) }, Order: u.orders.Of, Version: u.options.Version, Recheck: cfg.RecheckInterval,
		Past: publisher.Past{Epoch: known.Epoch, Generation: known.Generation, Wrote: !known.PublishedAt.IsZero()},
	})
	return &uploader{p, settings, retries}, err
}

// UploadPlace is the place of publish.s3.
func UploadPlace(cfg *config.Config) (objectstore.Place, error) {
	roots, err := certificate.Roots(cfg.Source.CAFile)
	s3 := cfg.Publish.S3
	return objectstore.Place{
		Endpoint: s3.Endpoint, Bucket: s3.Bucket, Prefix: s3.Prefix, Region: s3.Region, Roots: roots,
		StallTimeout: cfg.Source.StallTimeout, Retry: objectstore.Retry(cfg.Source.Retry),
	}, err
}

// replace ends the publisher of an earlier configuration. Others may hold it
// still: they get an error.
func (u uploads) replace(before, now *uploader) {
	if before != nil && before != now {
		before.Close()
	}
	switch {
	case now == nil:
		u.metrics.UploadsNothing()
	case now != before:
		known := u.lastUpload(placeOf(now.settings.publish))
		u.metrics.UploadedBefore(known.Generation, known.FailingSince, known.CollectionFailingSince)
		u.metrics.Verified(known.Verified.Found-known.Verified.Repaired, known.Verified.At)
	}
}

// upload publishes what is served, if a place is configured. nil means that there is no
// outcome.
func (u uploads) upload(ctx context.Context) *report.Upload {
	p := u.active.Load().publisher
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

// uploadDestroyed publishes what was destroyed, and removes it from the place. nil means that
// no place is configured.
func (u uploads) uploadDestroyed(ctx context.Context) *report.Upload {
	p := u.active.Load().publisher
	if p == nil {
		return nil
	}
	done, err := p.Upload(ctx, publisher.Request{Collect: true})
	if err != nil && done.Error == "" {
		done.Result, done.Error = report.UploadFailed, report.OneLine(err.Error())
	}
	return &done
}

// uploadNow publishes what is served, although no sync has run.
func (u uploads) uploadNow(ctx context.Context, req request.Upload) (done report.Upload, err error) {
	err = u.work(ctx, func() error {
		p := u.active.Load().publisher
		if p == nil {
			return errNoPlace
		}
		if !req.Verify && u.mirror.Current().Number == 0 {
			return errors.New("nothing is served: run `syncd sync`")
		}
		if req.Verify {
			verify := publisher.Verify{Repair: req.Repair, Read: req.Read}
			if req.Paced {
				verify.Rate = u.scrubRate
			}
			done, err = p.Verify(ctx, verify)
			return err
		}
		done, err = p.Upload(ctx, publisher.Request{DryRun: req.DryRun, Collect: req.Collect, Check: true, Force: req.Force})
		return err
	})
	return done, err
}

// BucketVerified is when the bucket was verified last; the zero time for never. It is false
// without a place to publish to.
func (e *Engine) BucketVerified() (at time.Time, hasPlace bool) {
	p := e.active.Load().publisher
	if p == nil {
		return at, false
	}
	return e.uploads.lastUpload(placeOf(p.settings.publish)).Verified.At, true
}
