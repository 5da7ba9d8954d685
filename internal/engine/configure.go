package engine

import (
	"cmp"
	"slices"

	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/export"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/syncer"
	"syncd/internal/view"
)

// active is the configuration in force and what was built from it. A reload
// replaces all of it.
type active struct {
	config *config.Config
	client *releases.Client
	syncer *syncer.Syncer
}

// Config returns the configuration in force.
func (e *Engine) Config() *config.Config { return e.active.Load().config }

// Configure puts cfg in force for all work that starts from now on. After an error
// the old configuration stays in force. cfg must name the same data directory.
func (e *Engine) Configure(cfg *config.Config) error {
	client, err := e.connect(cfg)
	if err != nil {
		return err
	}
	e.createSeries(cfg)
	e.audit.SetKeep(cfg.Audit.Keep)
	next := &active{config: cfg, client: client, syncer: syncer.New(e.syncerConfig(cfg, client), &e.progress)}
	if before := e.active.Swap(next); before != nil {
		e.dropSeries(before.config)
		before.client.Close()
	}
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
	return active.syncer.Orphaned()
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

// finish ends work that began under a. A reload during the work could not close the
// connections in use, and they are idle now.
func (e *Engine) finish(a *active) {
	e.dropSeries(a.config)
	if e.active.Load() != a {
		a.client.Close()
	}
}

// ReloadFailed tells the metrics that a new configuration could not be put in force.
func (e *Engine) ReloadFailed() { e.metrics.Reloaded(false) }

func (e *Engine) connect(cfg *config.Config) (*releases.Client, error) {
	id, err := cfg.Source.Credential.Read()
	if err != nil {
		return nil, err
	}
	e.options.AddSecret(id.Reveal())
	settings := ClientConfig(cfg.Source.Service(), id)
	settings.UserAgent, settings.Observer, settings.Gate = "syncd/"+e.options.Version, e.metrics, e.gate
	carrier, err := transport.New(settings)
	if err != nil {
		return nil, err
	}
	return releases.New(carrier), nil
}

func (e *Engine) syncerConfig(cfg *config.Config, client *releases.Client) syncer.Config {
	return syncer.Config{
		Provider: client, Mirror: e.mirror, Shared: e.shared, Store: e.store, Metrics: e.metrics,
		Fetcher: fetcher.New(client, e.mirror.Partial(), fetcher.Config{
			Files: cfg.Transfers.Files, Segments: cfg.Transfers.Segments, Bandwidth: cfg.Transfers.Bandwidth,
			MinRate: fetcher.MinRate(cfg.Source.MinRate), KeepCache: cfg.Transfers.KeepCache,
		}),
		Log: e.options.Log, Version: e.options.Version, Built: e.options.Built,
		Source:    transport.PublicURL(cfg.Source.URL),
		Algorithm: cfg.Source.Hash,
		Targets:   targetsOf(cfg), Transfers: cfg.Transfers.Files, PublishAfter: cfg.Transfers.PublishAfter,
		Recheck: cfg.RecheckInterval, MinKeepRatio: cfg.Guards.MinKeepRatio,
		Retain: cfg.Retain, RetainFor: cfg.RetainFor,
		Views: viewsOf(cfg), Exports: Exports(cfg), Access: mirror.Access(cfg.Permissions), DropRemoved: cfg.DropRemoved,
	}
}

func viewsOf(cfg *config.Config) []syncer.ViewTarget {
	targets := make([]syncer.ViewTarget, len(cfg.Views))
	for i, v := range cfg.Views {
		targets[i] = syncer.ViewTarget{
			View:     view.View{Name: v.Name, Manifests: v.Manifests, Layout: v.Layout, HashFiles: v.HashFiles},
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

func targetsOf(cfg *config.Config) []syncer.Target {
	targets := make([]syncer.Target, len(cfg.Manifests))
	for i, m := range cfg.Manifests {
		targets[i] = syncer.Target{Name: m.Name, Release: m.Release, Files: filesOf(m), Filter: m.Filter}
	}
	return targets
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
		files = []manifest.Reference{{Class: manifest.Product, Release: manifest.Latest, Name: m.Product}}
	}
	for i := range files {
		if files[i].Release == manifest.Latest {
			files[i].Release = m.Release
		}
		files[i].Tag = cmp.Or(files[i].Tag, m.Tag)
	}
	return files
}
