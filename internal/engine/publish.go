package engine

import (
	"context"
	"errors"
	"reflect"

	"syncd/internal/clients/certificate"
	"syncd/internal/config"
	"syncd/internal/downstream/publisher"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// errNoPlace says that there is nowhere to publish to.
var errNoPlace = errors.New("publish.s3 is not in the configuration: say there where this host publishes")

// uploads publish to object storage.
type uploads struct{ *base }

// publishing is the publisher with the settings that it was made with.
type publishing struct {
	*publisher.Publisher
	settings publishSettings
}

// publishSettings are the settings of a publisher: another one is made when they change.
type publishSettings struct {
	publish  config.Publish
	election config.Election
	source   config.Source // for its ca_file and its patience
}

// prepare returns the publisher of a configuration: that in force, a new one, or
// nil for none.
func (u uploads) prepare(cfg *config.Config) (*publishing, error) {
	if !cfg.Publish.S3.IsSet() {
		return nil, nil
	}
	source := config.Source{Connection: config.Connection{CAFile: cfg.Source.CAFile, StallTimeout: cfg.Source.StallTimeout, Retry: cfg.Source.Retry}}
	settings := publishSettings{cfg.Publish, cfg.Election, source}
	if before := u.active.Load(); before != nil && before.publisher != nil && reflect.DeepEqual(before.publisher.settings, settings) {
		return before.publisher, nil
	}
	place, err := PublishPlace(cfg)
	if err != nil {
		return nil, err
	}
	outcomes := &publications{place: placeOf(cfg.Publish), store: u.store}
	p, err := publisher.New(publisher.Config{
		Place: place, Grace: cfg.Publish.Grace, Lease: cfg.Election.Lease, Mirror: u.mirror, Observer: u.metrics, Keep: outcomes.keep, Log: u.options.Log,
		Configured: func(name string) bool { return u.Config().Has(name) }, Version: u.options.Version, Recheck: cfg.RecheckInterval,
	})
	return &publishing{p, settings}, err
}

// PublishPlace is the place of publish.s3.
func PublishPlace(cfg *config.Config) (publisher.Place, error) {
	roots, err := certificate.Roots(cfg.Source.CAFile)
	s3 := cfg.Publish.S3
	return publisher.Place{
		Endpoint: s3.Endpoint, Bucket: s3.Bucket, Prefix: s3.Prefix, Region: s3.Region, Roots: roots,
		StallTimeout: cfg.Source.StallTimeout, Retry: publisher.Retry(cfg.Source.Retry),
	}, err
}

// replace ends the publisher of an earlier configuration. Others may hold it
// still: they get an error.
func (u uploads) replace(before, now *publishing) {
	if before != nil && before != now {
		before.Close()
	}
	switch {
	case now == nil:
		u.metrics.PublishesNothing()
	case now != before:
		known := u.publishedTo(placeOf(now.settings.publish))
		u.metrics.PublishedBefore(known.Generation, known.FailingSince)
	}
}

// publish publishes what is served, if a place is configured. nil means that there is no
// outcome.
func (u uploads) publish(ctx context.Context) *report.Publication {
	p := u.active.Load().publisher
	if p == nil {
		return nil
	}
	done, err := p.Publish(ctx, publisher.Request{})
	if err != nil && ctx.Err() != nil {
		return nil // this process ends: the next sync publishes
	}
	return &done
}

// publishNow publishes what is served, although no sync has run.
func (u uploads) publishNow(ctx context.Context, req request.Publish) (done report.Publication, err error) {
	err = u.work(ctx, func() error {
		p := u.active.Load().publisher
		if p == nil {
			return errNoPlace
		}
		done, err = p.Publish(ctx, publisher.Request{DryRun: req.DryRun, Collect: req.Collect, Check: true})
		return err
	})
	return done, err
}
