package engine

import (
	"context"
	"fmt"

	"syncd/internal/downstream/bundle"
	"syncd/internal/engine/bundles"
	"syncd/internal/fetcher"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/syncer"
)

// bundle returns the texts of a bundle of what is live here.
func (e *Engine) bundle(context.Context, request.Bundle) (texts report.BundleTexts, err error) {
	editions, err := e.Followers.Generations()
	if err != nil {
		return texts, err
	}
	return bundles.Texts(editions)
}

// importBundle syncs the manifests that a bundle has, from the bundle.
func (e *Engine) importBundle(ctx context.Context, req request.Import) (report.Sync, error) {
	cfg := e.bundleConfig(req.Force)
	if err := cfg.MayBelieve(req.Unsigned); err != nil {
		return report.Sync{}, err
	}
	from, err := bundles.OpenFiles(ctx, req.Files, cfg)
	if err != nil {
		return report.Sync{}, err
	}
	defer from.Close()
	names := from.Names(e.Config().Names())
	if len(names) == 0 {
		return report.Sync{}, fmt.Errorf("bundle %s has none of the configured manifests: it has %s", req.Files[0], bundles.Titles(from.Bundle))
	}
	sync := request.Sync{Demand: true, Force: req.Force, DryRun: req.DryRun, Trigger: request.TriggerImport}
	result, err := e.syncFrom(ctx, sync, &parts{names: names, source: from})
	if err == nil && !req.DryRun {
		err = from.Taken()
	}
	return result, err
}

func (e *Engine) bundleConfig(force bool) bundles.Config {
	settings := ClientConfig(e.Config().Source.Service(), "")
	settings.UserAgent, settings.Observer, settings.Tell, settings.Gate = "syncd/"+e.options.Version, e.metrics, e.retries.tell, e.gate
	return bundles.Config{Store: e.store, Records: e.mirror.Records, Client: settings, Believer: e.active.Load().source.believes, Force: force}
}

// carried is the syncer for a bundle, with the configuration in force otherwise. Bundles share
// one name as a source, so that the next one goes on from the last one.
func (e *Engine) carried(a *active, from *bundles.Source) *syncer.Syncer {
	files := fetcher.New(from, e.mirror.Objects.Partial(), fetcher.Config{Files: a.config.Transfers.Files, Segments: 1, KeepCache: a.config.Transfers.KeepCache})
	return a.syncer.From(from, files, bundle.Base().String())
}
