package upload

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/clients/certificate"
	"syncd/internal/config"
	"syncd/internal/config/place"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher"
	"syncd/internal/downstream/publisher/contents"
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
	Served    func(ring string) publisher.Mirror // as the hosts of a ring may see it, "" for all
	Mirror    *mirror.Mirror
	Store     *store.Store
	Metrics   *metrics.Metrics
	Log       zerolog.Logger
	Version   string
	ScrubRate *rate.Budget

	Config func() *config.Config                   // in force
	Order  func(manifest string) destruction.Order // that followers get

	Patches contents.Patches
}

// Uploader publishes to the places of the configuration in force, side by side: a slow or broken
// one holds up no other. Safe for concurrent use.
type Uploader struct {
	cfg       Config
	inForce   atomic.Pointer[[]*Publisher] // nil and empty without a place
	bandwidth *rate.Budget                 // of all uploads
	renewals  sync.WaitGroup
}

// New returns an Uploader without a place: see Use.
func New(cfg Config) *Uploader {
	return &Uploader{cfg: cfg, bandwidth: rate.NewBudget(rate.Timetable{})}
}

// Publisher is the publisher of a place of a configuration with the settings that it was made
// with.
type Publisher struct {
	*publisher.Publisher
	settings settings
	hasRings bool
	retries  *retries
	signer   *trust.Signer // nil signs nothing
	series   *metrics.UploadTarget
	renewing atomic.Bool
}

// settings are the settings of a publisher: another one is made when they change.
type settings struct {
	target   place.Target
	patches  config.Patches
	election config.Election
	source   config.Source // for its ca_file and its patience
	rings    string        // their names
	signing  string        // identifies the key and the trust text, "" for none
}

// publishers are those in force.
func (u *Uploader) publishers() []*Publisher {
	if all := u.inForce.Load(); all != nil {
		return *all
	}
	return nil
}

// Prepare returns the publishers of a configuration: those in force, or new ones.
func (u *Uploader) Prepare(cfg *config.Config, signer *trust.Signer) (all []*Publisher, err error) {
	source := config.Source{Connection: config.Connection{CAFile: cfg.Source.CAFile, StallTimeout: cfg.Source.StallTimeout, Retry: cfg.Source.Retry}}
	settings := settings{patches: cfg.Publish.Patches, election: cfg.Election, source: source, rings: fmt.Sprint(cfg.Serve.Rings)}
	if signer != nil {
		settings.signing = fmt.Sprintf("%s %s %s", signer.Key(), signer.Valid(), signer.Chain().Newest().Fingerprint())
		if cfg.Election.Lease > 0 && signer.Chain().Newest().Threshold > 1 {
			return nil, cfg.At("election").Error(cfg.Path, "lets one publisher write, but the trust text asks for signatures of several", "remove it: publishers without an election do not cross either")
		}
	}
	for turn, t := range cfg.Publish.Targets {
		settings.target = t
		p, err := u.prepare(cfg, settings, signer, turn)
		if err != nil {
			for _, p := range all {
				if !slices.Contains(u.publishers(), p) {
					p.Close()
				}
			}
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// prepare returns the publisher of a place: the one in force, or a new one.
func (u *Uploader) prepare(cfg *config.Config, settings settings, signer *trust.Signer, turn int) (*Publisher, error) {
	for _, before := range u.publishers() {
		if reflect.DeepEqual(before.settings, settings) {
			return before, nil
		}
	}
	t := settings.target
	at, err := Place(cfg, t)
	if err != nil {
		return nil, err
	}
	made := &Publisher{settings: settings, signer: signer, series: u.cfg.Metrics.UploadTarget(t.Name)}
	log := u.cfg.Log
	if t.Name != "" {
		log = log.With().Str("target", t.Name).Logger()
	}
	made.retries = &retries{log: log}
	at.Tell, at.Bandwidth = made.retries.tell, u.bandwidth
	outcomes := &outcomes{place: placeOf(t), store: u.cfg.Store.Uploads()}
	known := u.last(outcomes.place)
	last, before := u.rings(cfg)
	made.hasRings = last.Name != ""
	made.Publisher, err = publisher.New(publisher.Config{
		Ring: last.Name, Rings: before,
		Place: at, Grace: t.Grace, Lease: cfg.Election.Lease, Mirror: last.Mirror, Objects: u.cfg.Mirror.Objects, Observer: made.series, Revision: u.cfg.Mirror.Records.Revision, Memory: memory{u.cfg.Store.Uploads(), outcomes.place, names(before)}, Keep: outcomes.keep, KeepCollection: outcomes.keepCollection, MustCollect: known.CollectionError != "", Log: log,
		Configured: func(name string) bool { return u.cfg.Config().Has(name) }, Order: u.cfg.Order, Version: u.cfg.Version, Recheck: cfg.RecheckInterval,
		Signer: signer, Patches: u.cfg.Patches,
		Turn: turn, Past: publisher.Past{Began: known.Began, Epoch: known.Epoch, Generation: known.Generation, Wrote: !known.PublishedAt.IsZero()},
	})
	return made, err
}

// rings are the rings of a configuration: the last one, and those before.
func (u *Uploader) rings(cfg *config.Config) (last publisher.Ring, before []publisher.Ring) {
	for _, r := range cfg.Serve.Rings {
		before = append(before, publisher.Ring{Name: r.Name, Mirror: u.cfg.Served(r.Name)})
	}
	if n := len(before); n > 0 {
		return before[n-1], before[:n-1]
	}
	return publisher.Ring{Mirror: u.cfg.Served("")}, nil
}

func names(rings []publisher.Ring) (all []string) {
	for _, r := range rings {
		all = append(all, r.Name)
	}
	return all
}

// Place is a place of publish.s3.
func Place(cfg *config.Config, t place.Target) (objectstore.Place, error) {
	roots, err := certificate.Roots(cfg.Source.CAFile)
	return objectstore.Place{
		Endpoint: t.Endpoint, Bucket: t.Bucket, Prefix: t.Prefix, Region: t.Region, Roots: roots,
		StallTimeout: cfg.Source.StallTimeout, Retry: objectstore.Retry(cfg.Source.Retry),
	}, err
}

// Use puts publishers in force, and ends those of the configuration before. Others may hold
// these still: they get an error.
func (u *Uploader) Use(cfg *config.Config, now []*Publisher) {
	u.bandwidth.Set(cfg.Publish.Bandwidth)
	before := u.publishers()
	u.inForce.Store(&now)
	for _, p := range before {
		if !slices.Contains(now, p) {
			p.Close()
		}
	}
	var series []*metrics.UploadTarget
	for _, p := range now {
		series = append(series, p.series)
	}
	u.cfg.Metrics.UploadsTo(series)
	for _, p := range now {
		if !slices.Contains(before, p) {
			known := u.last(placeOf(p.settings.target))
			p.series.Before(known.Generation, known.FailingSince, known.CollectionFailingSince)
			p.series.Verified(known.Verified.Found-known.Verified.Repaired, known.Verified.At)
		}
	}
}

// Close ends the publishers in force.
func (u *Uploader) Close() {
	for _, p := range u.publishers() {
		p.Close()
	}
	u.renewals.Wait()
}

// each does work at places side by side and returns all outcomes. The error is that of the only
// place: the outcomes of several have theirs.
func each(all []*Publisher, work func(*Publisher) (report.Upload, error)) (report.Upload, error) {
	if len(all) == 1 && all[0].settings.target.Name == "" {
		return work(all[0])
	}
	outcomes := make([]report.Upload, len(all))
	var group sync.WaitGroup
	for i, p := range all {
		group.Go(func() {
			done, err := work(p)
			if err != nil && done.Error == "" {
				done.Result, done.Error = report.UploadFailed, report.OneLine(err.Error())
			}
			done.Target = p.settings.target.Name
			outcomes[i] = done
		})
	}
	group.Wait()
	return report.Sum(outcomes), nil
}

// Upload publishes what is served, if a place is configured. nil means that there is no
// outcome.
func (u *Uploader) Upload(ctx context.Context) *report.Upload {
	all := u.publishers()
	if len(all) == 0 {
		return nil
	}
	ctx, span := tracing.Start(ctx, "upload", "")
	done, err := each(all, func(p *Publisher) (report.Upload, error) { return p.Upload(ctx, publisher.Request{}) })
	span.End(err)
	if (err != nil || done.Error != "") && ctx.Err() != nil {
		return nil // this process ends: the next sync publishes
	}
	return &done
}

// KeepSigned renews the statements about what is in the buckets, and lets rings see what they wait
// for, until ctx ends. It needs no sync: a statement expires, and a ring begins, without news.
func (u *Uploader) KeepSigned(ctx context.Context) {
	for {
		every := time.Minute // a configuration that signs may come
		for _, p := range u.publishers() {
			if p.signer != nil {
				every = min(every, p.signer.Valid()/16)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
		for _, p := range u.publishers() {
			if (p.signer != nil || p.hasRings) && p.IsDue() && p.renewing.CompareAndSwap(false, true) {
				u.renewals.Go(func() {
					defer p.renewing.Store(false)
					_, _ = p.Publisher.Upload(ctx, publisher.Request{}) // it has noted the outcome
				})
			}
		}
	}
}

// UploadDestroyed publishes what was destroyed, and removes it from the places. nil means that
// no place is configured.
func (u *Uploader) UploadDestroyed(ctx context.Context) *report.Upload {
	all := u.publishers()
	if len(all) == 0 {
		return nil
	}
	done, err := each(all, func(p *Publisher) (report.Upload, error) {
		return p.Upload(ctx, publisher.Request{Collect: true})
	})
	if err != nil && done.Error == "" {
		done.Result, done.Error = report.UploadFailed, report.OneLine(err.Error())
	}
	return &done
}

// Now does what `syncd publish` asks for, although no sync has run.
func (u *Uploader) Now(ctx context.Context, req request.Upload) (done report.Upload, err error) {
	all := u.publishers()
	if len(all) == 0 {
		return done, errNoPlace
	}
	if req.Target != "" {
		all = slices.DeleteFunc(slices.Clone(all), func(p *Publisher) bool { return p.settings.target.Name != req.Target })
		if len(all) == 0 {
			return done, fmt.Errorf("publish.s3 of the running syncd has no place with the name %s: send it SIGHUP (`systemctl reload syncd`) if the file has one", req.Target)
		}
	}
	if !req.Verify && u.cfg.Mirror.Current().Number == 0 {
		return done, errors.New("nothing is served: run `syncd sync`")
	}
	verify := publisher.Verify{Repair: req.Repair, Read: req.Read}
	if req.Paced {
		verify.Rate = u.cfg.ScrubRate
	}
	return each(all, func(p *Publisher) (report.Upload, error) {
		if req.Verify {
			return p.Verify(ctx, verify)
		}
		return p.Upload(ctx, publisher.Request{DryRun: req.DryRun, Collect: req.Collect, Check: true, Force: req.Force})
	})
}

// Verified is when all places were verified last; the zero time for never. It is false without
// a place to publish to.
func (u *Uploader) Verified() (at time.Time, hasPlace bool) {
	for i, p := range u.publishers() {
		if last := u.last(placeOf(p.settings.target)).Verified.At; i == 0 || last.Before(at) {
			at = last
		}
		hasPlace = true
	}
	return at, hasPlace
}
