package engine

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"os"
	"slices"

	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/downstream/believer"
	"syncd/internal/downstream/follower"
	"syncd/internal/downstream/rings"
	"syncd/internal/engine/bundles"
	"syncd/internal/engine/secrets"
	"syncd/internal/engine/sources"
	"syncd/internal/engine/upload"
	"syncd/internal/fetcher"
	"syncd/internal/golive"
	"syncd/internal/golive/gate"
	"syncd/internal/golive/probe"
	"syncd/internal/golive/rows"
	"syncd/internal/hooks"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
	"syncd/internal/mirror"
	"syncd/internal/mirror/export"
	"syncd/internal/mirror/staging"
	"syncd/internal/syncer"
	"syncd/internal/syncer/source"
)

// active is the configuration in force and what was built from it. A reload
// replaces all of it.
type active struct {
	config *config.Config
	source *connection
	others []*connection // of the other sources
	list   *sources.List // nil for one source
	syncer *syncer.Syncer
	hidden *secrets.Secrets
	users  int // pieces of work

	hooks     []hooks.Hook
	hookRoots *x509.CertPool // nil for the system's
}

// connection leads to what this host mirrors: the provider, another syncd, or the bucket of a
// publisher.
type connection struct {
	provider source.Provider // nil for a bucket
	bucket   source.Bucket
	files    fetcher.Source
	close    func()
	denials  *denials
	id       config.Secret      // the Customer ID; "" for none
	believes *believer.Believer // nil without a trust file; bundles have it, too
	folder   *bundles.Folder    // in which bundles appear; nil for another source
}

// Configure puts cfg in force for all work that starts from now on. After an error
// the old configuration stays in force. cfg must name the same data directory.
func (e *Engine) Configure(cfg *config.Config) error {
	e.configuring.Lock()
	defer e.configuring.Unlock()
	return e.configure(cfg)
}

func (e *Engine) configure(cfg *config.Config) error {
	next := &active{config: cfg}
	if err := next.prepareHooks(cfg); err != nil {
		return cfg.Located("source", err)
	}
	var err error
	if next.source, err = e.connect(cfg, cfg.Source, nil); err != nil {
		return cfg.Located("source", err)
	}
	for i, other := range cfg.Others {
		connected, err := e.connect(cfg, other, next.source.believes)
		if err != nil {
			next.close()
			return cfg.Located(fmt.Sprintf("source[%d]", i+1), err)
		}
		next.others = append(next.others, connected)
	}
	next.hidden = secrets.Of(cfg, next.ids()...)
	signer, err := cfg.Signer()
	var publishers []*upload.Publisher
	if err == nil {
		publishers, err = e.Uploads.Prepare(cfg, signer)
	}
	if err != nil {
		next.close()
		return err
	}
	e.series.create(cfg)
	e.Followers.configure(cfg)
	e.Followers.signing.Use(signer)
	e.audit.SetKeep(cfg.Audit.Keep)
	e.bandwidth.Set(cfg.Transfers.Bandwidth)
	e.Scrub.rate.Set(rate.Always(cfg.Scrub.Rate))
	next.syncer = syncer.New(e.syncerConfig(cfg, next), &e.progress)
	e.listSources(next)
	if before := e.replace(next); before != nil {
		e.series.drop(before.config)
	}
	e.Uploads.Use(cfg, publishers)
	e.Patches.Wake()
	e.Hooks.start(next)
	e.Probes.drop(next)
	e.metrics.Reloaded(true)
	e.warnOrphaned()
	return nil
}

// orphaned lists what is served although it left the configuration.
func (e *Engine) orphaned() []string {
	active := e.active.Load()
	if active == nil {
		return nil
	}
	return active.syncer.Tree().Orphaned()
}

// DropsOrphans is true when something is to be forgotten at once.
func (e *Engine) DropsOrphans() bool { return e.Config().DropRemoved && len(e.orphaned()) > 0 }

func (e *Engine) warnOrphaned() {
	if e.Config().DropRemoved {
		return
	}
	for _, name := range e.orphaned() {
		e.options.Log.Warn().Str("name", name).Msg("left the configuration and stays served as it is: `syncd forget` removes it, or `removed: drop` in the configuration")
	}
}

// finish ends work that began under a.
func (e *Engine) finish(a *active) {
	e.series.drop(a.config)
	e.users.Lock()
	defer e.users.Unlock()
	a.users--
	e.closeUnusedLocked(a)
}

// ReloadFailed tells the metrics that a new configuration could not be put in force.
func (e *Engine) ReloadFailed() { e.metrics.Reloaded(false) }

// connect returns a client of a source. believed is what the sources before
// believe, nil for none.
func (e *Engine) connect(cfg *config.Config, from config.Source, believed *believer.Believer) (*connection, error) {
	id, err := from.ReadID()
	if err != nil {
		return nil, err
	}
	e.options.AddSecret(id.Reveal())
	if from.Bundles != "" {
		return e.Bundles.watched(cfg)
	}
	settings, denials := SourceConfig(from, id), &denials{Observer: e.metrics}
	settings.Dated = e.witness.Note
	settings.UserAgent, settings.Observer, settings.Tell, settings.Gate = "syncd/"+e.options.Version, denials, e.retries.tell, e.gate
	carrier, err := transport.New(settings)
	if err != nil {
		return nil, err
	}
	if from.S3.IsSet() || from.TrustFile != "" {
		client := follower.New(carrier, follower.Below(from.S3.IsSet())...)
		client.In(from.Ring)
		believes := believed.Beside()
		if believes == nil {
			if believes, err = believer.FromFile(from.TrustFile, e.store); err != nil {
				return nil, err
			}
		}
		if believes != nil && len(cfg.Others) > 0 {
			believes.At(from.URL.String())
		}
		client.Believe(believes, believer.CountOf(from.S3.IsSet()))
		client.Keep(e.Followers.keptFor(cfg))
		client.Patch(e.mirror.Objects.Open, transport.MinRate(from.MinRate))
		client.Remember(e.store, from.URL.String())
		return &connection{bucket: client, files: client, close: client.Close, denials: denials, believes: believes, id: id}, nil
	}
	client := follower.NewUpstream(carrier)
	client.Mirror.Patch(e.mirror.Objects.Open, transport.MinRate(from.MinRate))
	if settings.Report {
		client.Mirror.Remember(e.store, from.URL.String())
	}
	return &connection{provider: client, bucket: client.Mirror, files: client, close: client.Close, denials: denials, id: id}, nil
}

// keptFor is where the signed texts of the source are kept.
func (f *Followers) keptFor(cfg *config.Config) *follower.Relay {
	return &follower.Relay{Folder: f.relay.Folder, Wants: cfg.Has, Warn: f.relay.Warn}
}

func (e *Engine) syncerConfig(cfg *config.Config, a *active) syncer.Config {
	from := a.source
	return syncer.Config{
		Config:   e.treeConfig(cfg, a),
		Provider: from.provider, Bucket: from.bucket, Directory: e.directory, Shared: e.shared,
		Fetcher: e.fetcherOf(cfg, cfg.Source, from), Siblings: siblings(cfg, cfg.Source),
		Built: e.options.Built, PublishAfter: cfg.Transfers.PublishAfter,
		Guards:   source.Guards{MinKeepRatio: cfg.Guards.MinKeepRatio, MinBytesRatio: cfg.Guards.MinBytesRatio, MaxFileShrink: cfg.Guards.MaxFileShrink},
		Describe: cfg.Serve.IsOn() || cfg.Publish.S3.IsSet(), Follower: e.follower(cfg), Tell: e.Followers.tell,
	}
}

func (e *Engine) treeConfig(cfg *config.Config, a *active) golive.Config {
	return golive.Config{
		Mirror: e.mirror, Staging: e.staging, Store: e.store, Outbox: e.Hooks.outbox, Probes: e.notes, Metrics: e.metrics,
		Log: e.options.Log, Version: e.options.Version,
		Lifespans: e.lifespans, Present: e.witness.Present, Audit: e.audit,
		Source: transport.PublicURL(cfg.Source.URL), Sources: cfg.SourceURLs(), Algorithm: cfg.Source.Hash,
		Targets: targetsOf(cfg, probe.Probe{Env: a.hidden.Environ(), Roots: a.hookRoots, UserAgent: "syncd/" + e.options.Version}), Groups: groupsOf(cfg), Views: viewsOf(cfg), Exports: Exports(cfg),
		Access: mirror.Access(cfg.Permissions), DropRemoved: cfg.DropRemoved, Followers: e.Followers.keeper(), Patches: e.Patches,
		Redact:    a.hidden.Clean,
		Transfers: cfg.Transfers.Files, Retain: cfg.Retain, RetainFor: cfg.RetainFor, Recheck: cfg.RecheckInterval,
	}
}

// follower is how this host names itself to an upstream that is a syncd.
func (e *Engine) follower(cfg *config.Config) rings.State {
	host, err := os.Hostname()
	if err != nil {
		e.options.Log.Warn().Err(err).Msg("reading the name of this host failed; an upstream sees it as unknown")
	}
	return rings.NewState(host, cfg.DataDir, e.options.Version)
}

func viewsOf(cfg *config.Config) []golive.ViewTarget {
	targets := make([]golive.ViewTarget, len(cfg.Views))
	for i, v := range cfg.Views {
		targets[i] = golive.ViewTarget{
			View:     layout.View{Name: v.Name, Manifests: v.Manifests, Layout: v.Layout, HashFiles: v.HashFiles},
			ReadMaps: v.ReadMaps,
		}
	}
	return targets
}

// Exports are the folders that follow views.
func Exports(cfg *config.Config) (targets []export.Target) {
	for _, v := range cfg.Views {
		if v.Export != "" {
			targets = append(targets, export.Target{View: v.Name, Path: v.Export, DataDir: cfg.DataDir, KeepFor: cfg.RetainFor})
		}
	}
	return targets
}

// targetsOf returns what a configuration mirrors. surroundings has what the configuration does
// not say about a probe; its environment is that of gates, too.
func targetsOf(cfg *config.Config, surroundings probe.Probe) golive.Targets {
	targets := make(golive.Targets, len(cfg.Manifests))
	for i, m := range cfg.Manifests {
		targets[i] = golive.Target{
			Target:   manifest.Target{Name: m.Name, Release: m.Release, Files: filesOf(m), Filter: m.Filter},
			Activate: policyOf(m.Activate),
			Gate:     gate.Gate{Command: m.Gate.Command, Timeout: m.Gate.Timeout, Compare: m.Gate.Compare, Changed: m.Gate.Changed, Env: surroundings.Env},
			Probe:    probeOf(m.Probe, surroundings),
			Expires:  m.Expires,

			DestroyAfter: m.DestroyAfter,
			Rows:         rows.Rule{Formats: m.Rows, MaxGone: cfg.Guards.MaxRowsGone},
		}
	}
	return targets
}

func probeOf(p config.Probe, surroundings probe.Probe) probe.Probe {
	of := surroundings
	of.Command, of.URL, of.Contains, of.Status = p.Command, p.URL, p.Contains, p.Status
	of.Within, of.Every = p.Within, p.Every
	return of
}

func policyOf(a config.Activation) staging.Policy {
	if a.Window.IsZero() {
		return staging.Policy{Manual: a.Manual}
	}
	return staging.Policy{Window: a.Window}
}

func groupsOf(cfg *config.Config) golive.Groups {
	groups := make(golive.Groups, len(cfg.Groups))
	for i, g := range cfg.Groups {
		groups[i] = golive.Group(g)
	}
	return groups
}

// FilesOf returns the files of a configured entry with a product or single files; none for
// a manifest, or another name.
func FilesOf(cfg *config.Config, name string) []manifest.Reference {
	for _, m := range cfg.Manifests {
		if m.Name == name {
			return filesOf(m)
		}
	}
	return nil
}

// filesOf returns the files of a product or of an entry with single files. The entry's
// release stands for `latest` in a path, and its tag is for files without their own.
func filesOf(m config.Manifest) []manifest.Reference {
	files := slices.Clone(m.Files)
	if m.Product != "" {
		files = []manifest.Reference{manifest.Parts{Class: manifest.Product, Release: manifest.Latest, Name: m.Product}.Reference()}
	}
	for i, ref := range files {
		if ref.Release() == manifest.Latest {
			ref = ref.WithRelease(m.Release)
		}
		files[i] = ref.WithTag(cmp.Or(ref.Tag(), m.Tag))
	}
	return files
}
