package daemon

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/report"
	"syncd/internal/report/request"
)

// Sync does one sync and logs its outcome in one event.
func (d *Daemon) Sync(ctx context.Context, req request.Sync) (report.Sync, error) {
	started := time.Now()
	result, err := d.engine.Sync(ctx, req)
	event := d.log.Info()
	switch {
	case err != nil && ctx.Err() != nil:
		event.Bool("stopped", true)
	case err != nil || !result.OK():
		event = d.log.Error().AnErr("error", err)
	}
	event.Str("trigger", req.Trigger).Int("generation", result.Generation).Bool("changed", result.Changed).
		Float64("seconds", time.Since(started).Seconds()).Array("manifests", manifestFields(result))
	if len(result.Views) > 0 {
		event.Array("views", viewFields(result))
	}
	withPublication(withExports(event, result), result.Publication).Msg("sync")
	return result, err
}

// Rollback publishes an earlier state and logs the outcome in one event.
func (d *Daemon) Rollback(ctx context.Context, req request.Rollback) (report.Sync, error) {
	result, err := d.engine.Rollback(ctx, req)
	event := d.log.Info()
	if err != nil || !result.OK() {
		event = d.log.Error().AnErr("error", err)
	}
	event.Int("generation", result.Generation).Array("manifests", manifestFields(result))
	withPublication(withExports(event, result), result.Publication).Msg("rollback")
	return result, err
}

// Activate publishes what is staged, or discards it, and logs the outcome in one event.
func (d *Daemon) Activate(ctx context.Context, req request.Activate) (report.Sync, error) {
	result, err := d.engine.Activate(ctx, req)
	event := d.log.Info()
	if err != nil || !result.OK() {
		event = d.log.Error().AnErr("error", err)
	}
	event.Str("trigger", req.Trigger).Int("generation", result.Generation).Bool("changed", result.Changed).
		Array("manifests", manifestFields(result))
	withPublication(event, result.Publication).Msg("activate")
	return result, err
}

// Order pins, unpins, holds or skips, and logs the outcome in one event.
func (d *Daemon) Order(ctx context.Context, req request.Order) (report.Sync, error) {
	result, err := d.engine.Order(ctx, req)
	event := d.log.Info()
	if err != nil {
		event = d.log.Error().Err(err)
	}
	event.Strs("manifests", req.Manifests).Str("release", req.Release).Time("until", req.Until).Bool("undo", req.Undo).
		Int("generation", result.Generation).Msg(req.Trigger)
	return result, err
}

// Forget removes what left the configuration and logs the outcome in one event.
func (d *Daemon) Forget(ctx context.Context, req request.Forget) (report.Sync, error) {
	result, err := d.engine.Forget(ctx, req)
	event := d.log.Info()
	if err != nil {
		event = d.log.Error().Err(err)
	}
	event.Str("trigger", req.Trigger).Int("generation", result.Generation).Strs("removed", result.Removed).Msg("forget")
	return result, err
}

// Publish publishes what is served and logs the outcome in one event.
func (d *Daemon) Publish(ctx context.Context, req request.Publish) (report.Publication, error) {
	result, err := d.engine.Publish(ctx, req)
	event := d.log.Info()
	if err != nil {
		event = d.log.Error().Err(err)
	}
	withPublication(event, &result).Bool("dry_run", req.DryRun).Msg("publish")
	return result, err
}

// dropRemoved forgets at once what left the configuration, if the configuration says so.
func (d *Daemon) dropRemoved(ctx context.Context, trigger string) {
	if d.engine.DropsOrphans() {
		_, _ = d.Forget(ctx, request.Forget{Trigger: trigger}) // Forget has logged the outcome
	}
}

// Repair replaces damaged files and logs an event for each of them.
func (d *Daemon) Repair(ctx context.Context, req request.Verify) (report.Verification, error) {
	result, err := d.engine.Repair(ctx, req)
	for _, damage := range result.Damage {
		d.log.Error().Str("manifest", damage.Manifest).Str("path", damage.Path).
			Bool("repaired", damage.Repaired).Str("error", damage.Error).Msg("damage")
	}
	return result, err
}

// Adopt uses the files of a folder and logs the outcome in one event.
func (d *Daemon) Adopt(ctx context.Context, req request.Adopt) (report.Adoption, error) {
	result, err := d.engine.Adopt(ctx, req)
	event := d.log.Info()
	if err != nil || !result.OK() {
		event = d.log.Error().AnErr("error", err)
	}
	event.Str("folder", req.Folder).Bool("move", req.Move).Int("files", result.FilesAdopted).Int64("bytes", result.BytesAdopted).
		Int("to_download", result.FilesToDownload).Msg("adopt")
	return result, err
}

// viewFields are the fields of a log event for each view.
func viewFields(result report.Sync) *zerolog.Array {
	views := zerolog.Arr()
	for _, v := range result.Views {
		entry := zerolog.Dict().Str("view", v.Name).Str("fingerprint", v.Fingerprint).Str("result", string(v.Result)).Int("files", v.Files)
		if v.Error != "" {
			entry.Str("reason", v.Reason).Str("error", v.Error)
		}
		views.Dict(entry)
	}
	return views
}

// withExports adds a field for each exported folder to a log event.
func withExports(event *zerolog.Event, result report.Sync) *zerolog.Event {
	if len(result.Exports) == 0 {
		return event
	}
	exports := zerolog.Arr()
	for _, e := range result.Exports {
		entry := zerolog.Dict().Str("view", e.View).Str("export", e.Path).Str("result", string(e.Result)).Int("generation", e.Generation)
		if e.Error != "" {
			entry.Str("reason", e.Reason).Str("error", e.Error)
		}
		exports.Dict(entry)
	}
	return event.Array("exports", exports)
}

// withPublication adds the outcome of publishing to object storage to a log event.
func withPublication(event *zerolog.Event, p *report.Publication) *zerolog.Event {
	if p == nil || p.Result == "" {
		return event
	}
	fields := zerolog.Dict().Str("result", string(p.Result)).Int("generation", p.Generation).Int("objects", p.Objects).Int64("bytes", p.Bytes)
	if len(p.Kept) > 0 {
		fields.Strs("kept", p.Kept)
	}
	if c := p.Collected; c != nil {
		fields.Int("deleted_objects", c.Objects).Int64("deleted_bytes", c.Bytes)
	}
	if p.Error != "" {
		fields.Str("error", p.Error)
	}
	return event.Dict("publication", fields)
}

// manifestFields are the fields of a log event for each manifest.
func manifestFields(result report.Sync) *zerolog.Array {
	manifests := zerolog.Arr()
	for _, m := range result.Manifests {
		entry := zerolog.Dict().Str("manifest", m.Name).Str("release", m.Release).Str("revision", m.Revision).
			Str("result", string(m.Result)).Int("files", m.FilesTotal).Int("downloaded", m.FilesDownloaded).
			Int64("bytes_downloaded", m.BytesDownloaded).Float64("seconds", m.DurationSeconds)
		if m.Error != "" {
			entry.Str("reason", m.Reason).Str("error", m.Error)
		}
		manifests.Dict(entry)
	}
	return manifests
}

// staleInterval is how often stale data is looked for. The first look comes that long after
// the start, when the first syncs are probably done.
const staleInterval = 10 * time.Minute

// tellStale tells hooks about stale data until ctx ends.
func (d *Daemon) tellStale(ctx context.Context) {
	ticker := time.NewTicker(staleInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			d.engine.TellStale()
		}
	}
}
