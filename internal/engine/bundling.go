package engine

import (
	"context"
	"fmt"

	"syncd/internal/config"
	"syncd/internal/downstream/believer"
	"syncd/internal/downstream/bundle"
	"syncd/internal/engine/bundles"
	"syncd/internal/fetcher"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/syncer"
)

// Bundles carries data by disk instead of a wire.
type Bundles struct {
	*base
	engine *Engine
}

// export returns the texts of a bundle of what is live here.
func (b *Bundles) export(context.Context, request.Bundle) (texts report.BundleTexts, err error) {
	editions, err := b.engine.Followers.Generations()
	if err != nil {
		return texts, err
	}
	return bundles.Texts(editions)
}

// take syncs the manifests that a bundle has, from the bundle.
func (b *Bundles) take(ctx context.Context, req request.Import) (report.Sync, error) {
	cfg := b.settings(req.Force)
	if err := cfg.MayBelieve(req.Unsigned); err != nil {
		return report.Sync{}, err
	}
	from, err := bundles.OpenFiles(ctx, req.Files, cfg)
	if err != nil {
		return report.Sync{}, err
	}
	defer from.Close()
	names := from.Names(b.Config().Names())
	if len(names) == 0 {
		return report.Sync{}, fmt.Errorf("bundle %s has none of the configured manifests: it has %s", req.Files[0], bundles.Titles(from.Bundle))
	}
	sync := request.Sync{Demand: true, Force: req.Force, DryRun: req.DryRun, Trigger: request.TriggerImport}
	return b.engine.syncFrom(ctx, sync, &parts{names: names, source: from})
}

// fromFolder returns the bundle in source.bundles that a sync takes. One that cannot be used
// fails each manifest, so that history and events tell of it.
func (b *Bundles) fromFolder(ctx context.Context, folder *bundles.Folder, force bool) (*bundles.Source, error) {
	from, err := folder.Open(ctx, b.settings(force))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return bundles.Broken(err), nil
	}
	return from, nil
}

// Settled names the bundle in source.bundles that the next sync takes; "" for none.
func (b *Bundles) Settled() string {
	folder := b.active.Load().source.folder
	if folder == nil {
		return ""
	}
	return folder.Settled()
}

// watched is the connection of a host whose data comes from a folder.
func (b *Bundles) watched(cfg *config.Config) (*connection, error) {
	believes, err := believer.FromFile(cfg.Source.TrustFile, b.store)
	if err != nil {
		return nil, err
	}
	folder := bundles.NewFolder(cfg.Source.Bundles)
	if before := b.active.Load(); before != nil && before.config.Source.Bundles == cfg.Source.Bundles {
		folder = before.source.folder
	}
	nothing, err := bundles.Open(nil, bundles.Config{Store: b.store, Records: b.mirror.Records}, func() {})
	if err != nil {
		return nil, err
	}
	return &connection{bucket: nothing, files: nothing, close: nothing.Close, denials: &denials{Observer: b.metrics}, believes: believes, folder: folder}, nil
}

func (b *Bundles) settings(force bool) bundles.Config {
	settings := ClientConfig(b.Config().Source.Service(), "")
	settings.UserAgent, settings.Observer, settings.Tell, settings.Gate = "syncd/"+b.options.Version, b.metrics, b.engine.retries.tell, b.engine.gate
	return bundles.Config{Store: b.store, Records: b.mirror.Records, Objects: b.mirror.Objects.Open, Client: settings, Believer: b.active.Load().source.believes, Relay: b.engine.Followers.keptFor(b.Config()), Force: force}
}

// carried is the syncer for a bundle, with the configuration in force otherwise. Bundles share
// one name as a source, so that the next one goes on from the last one.
func (b *Bundles) carried(a *active, from *bundles.Source) *syncer.Syncer {
	files := fetcher.New(from, b.mirror.Objects.Partial(), fetcher.Config{Files: a.config.Transfers.Files, Segments: 1, KeepCache: a.config.Transfers.KeepCache})
	return a.syncer.From(nil, from, files, bundle.Base().String(), nil)
}
