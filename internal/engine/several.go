package engine

import (
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/engine/sources"
	"syncd/internal/fetcher"
)

// listSources makes the list of several sources of a configuration.
func (e *Engine) listSources(a *active) {
	if len(a.others) == 0 {
		e.metrics.SourcesAre(nil, nil, nil) // a list that left the configuration
		return
	}
	all := []sources.Source{{Name: a.config.Source.Name, Sync: a.syncer.Sync}}
	for i, c := range a.others {
		from := a.config.Others[i]
		other := a.syncer.From(c.provider, c.bucket, e.fetcherOf(a.config, from, c), transport.PublicURL(from.URL), siblings(a.config, from))
		a.syncer.Next(other.Repairer)
		all = append(all, sources.Source{Name: from.Name, Sync: other.Sync})
	}
	var err error
	a.list, err = sources.New(sources.Config{
		Sources: all, Manifests: a.config.Names(), Store: e.store, Shown: e.metrics, Outbox: e.Hooks.outbox, Current: e.mirror.Current, Log: e.options.Log,
	})
	if err != nil {
		e.options.Log.Warn().Err(err).Msg("reading which source is in use failed; the preferred one is asked first")
	}
}

// siblings are the other sources of a configuration, as records show them.
func siblings(cfg *config.Config, of config.Source) (urls []string) {
	for _, s := range cfg.Sources() {
		if s.Name != of.Name {
			urls = append(urls, transport.PublicURL(s.URL))
		}
	}
	return urls
}

// fetcherOf is the fetcher of a source.
func (e *Engine) fetcherOf(cfg *config.Config, of config.Source, from *connection) *fetcher.Fetcher {
	files := from.files
	if len(cfg.Others) > 0 {
		files = sources.Resumed(files)
	}
	return fetcher.New(files, e.mirror.Objects.Partial(), fetcher.Config{
		Files: cfg.Transfers.Files, Segments: cfg.Transfers.Segments, Bandwidth: e.bandwidth,
		MinRate: transport.MinRate(of.MinRate), KeepCache: cfg.Transfers.KeepCache,
	})
}

// connections are those of all sources.
func (a *active) connections() []*connection { return append([]*connection{a.source}, a.others...) }

// ids are the Customer IDs of all sources.
func (a *active) ids() (ids []config.Secret) {
	for _, c := range a.connections() {
		ids = append(ids, c.id)
	}
	return ids
}

// close ends the connections of all sources.
func (a *active) close() {
	for _, c := range a.connections() {
		c.close()
	}
}
