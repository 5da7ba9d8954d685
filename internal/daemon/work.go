package daemon

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// Operations returns what this daemon can be asked to do: all that its engine can. Work is
// logged in one event each.
func (d *Daemon) Operations() *operation.Table { return d.operations }

func (d *Daemon) newOperations() *operation.Table {
	return d.engine.Operations().With(
		operation.Status.By(d.Status),
		operation.Alive.By(d.Alive),
		operation.Ready.By(d.Alive, func() error { return d.Ready(0) }),
		operation.Sync.By(d.logSync(operation.Sync)),
		operation.SyncLocked.By(d.logSync(operation.SyncLocked)),
		logged(d, operation.Rollback, report.Sync.OK, logRollback),
		logged(d, operation.Activate, report.Sync.OK, logActivate),
		logged(d, operation.Order, always, logOrder),
		logged(d, operation.Forget, always, logForget),
		logged(d, operation.Upload, report.Upload.OK, logUpload),
		logged(d, operation.Adopt, report.Adoption.OK, logAdopt),
		operation.Repair.By(d.logRepair),
	)
}

// always is the test of a result that holds no failures: the error says everything.
func always[Result any](Result) bool { return true }

// logged does an operation of the engine and writes its outcome to the log: as an error if
// it has failed, or if its result is not OK.
func logged[Request, Result any](d *Daemon, op operation.Work[Request, Result], isOK func(Result) bool, write func(*zerolog.Event, Request, Result)) operation.Handler {
	return op.By(func(ctx context.Context, req Request) (Result, error) {
		result, err := op.Do(ctx, d.engine.Operations(), req)
		event := d.log.Info()
		if err != nil || !isOK(result) {
			event = d.log.Error().AnErr("error", err)
		}
		write(event, req, result)
		return result, err
	})
}

// logSync does a sync. One that the end of the daemon stopped is no error.
func (d *Daemon) logSync(op operation.Work[request.Sync, report.Sync]) func(context.Context, request.Sync) (report.Sync, error) {
	return func(ctx context.Context, req request.Sync) (report.Sync, error) {
		started := time.Now()
		result, err := op.Do(ctx, d.engine.Operations(), req)
		event := d.log.Info()
		switch {
		case err != nil && ctx.Err() != nil:
			event.Bool("stopped", true)
		case err != nil || !result.OK():
			event = d.log.Error().AnErr("error", err)
		}
		event.Str("trigger", req.Trigger).Int("generation", result.Generation).Bool("changed", result.Changed).
			Float64("seconds", time.Since(started).Seconds()).Array("manifests", manifestFields(result))
		withTrace(event, result.TraceID)
		if len(result.Views) > 0 {
			event.Array("views", viewFields(result))
		}
		withUpload(withExports(event, result), result.Upload).Msg("sync")
		return result, err
	}
}

func logRollback(event *zerolog.Event, _ request.Rollback, result report.Sync) {
	event.Int("generation", result.Generation).Array("manifests", manifestFields(result))
	withUpload(withExports(withTrace(event, result.TraceID), result), result.Upload).Msg("rollback")
}

func logActivate(event *zerolog.Event, req request.Activate, result report.Sync) {
	event.Str("trigger", req.Trigger).Int("generation", result.Generation).Bool("changed", result.Changed).
		Array("manifests", manifestFields(result))
	withUpload(withTrace(event, result.TraceID), result.Upload).Msg("activate")
}

func logOrder(event *zerolog.Event, req request.Order, result report.Sync) {
	event.Strs("manifests", req.Manifests).Str("release", req.Release).Time("until", req.Until).Bool("undo", req.Undo).
		Int("generation", result.Generation).Msg(req.Trigger)
}

func logForget(event *zerolog.Event, req request.Forget, result report.Sync) {
	event.Str("trigger", req.Trigger).Int("generation", result.Generation).Strs("removed", result.Removed).Msg("forget")
}

func logUpload(event *zerolog.Event, req request.Upload, result report.Upload) {
	withUpload(event, &result).Bool("dry_run", req.DryRun).Msg("publish")
}

func logAdopt(event *zerolog.Event, req request.Adopt, result report.Adoption) {
	event.Str("folder", req.Folder).Bool("move", req.Move).Int("files", result.FilesAdopted).Int64("bytes", result.BytesAdopted).
		Int("to_download", result.FilesToDownload).Msg("adopt")
}

// logRepair replaces damaged files and logs an event for each of them.
func (d *Daemon) logRepair(ctx context.Context, req request.Verify) (report.Verification, error) {
	result, err := operation.Repair.Do(ctx, d.engine.Operations(), req)
	for _, damage := range result.Damage {
		d.log.Error().Str("manifest", damage.Manifest).Str("path", damage.Path).
			Bool("repaired", damage.Repaired).Str("error", damage.Error).Msg("damage")
	}
	return result, err
}

// dropRemoved forgets at once what left the configuration, if the configuration says so.
func (d *Daemon) dropRemoved(ctx context.Context, trigger string) {
	if d.engine.DropsOrphans() {
		_, _ = operation.Forget.Do(ctx, d.operations, request.Forget{Trigger: trigger}) // it has logged the outcome
	}
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

// withTrace adds the trace of the work, if there is one, to a log event.
func withTrace(event *zerolog.Event, id string) *zerolog.Event {
	if id != "" {
		event.Str("trace_id", id)
	}
	return event
}

// withUpload adds the outcome of publishing to object storage to a log event.
func withUpload(event *zerolog.Event, p *report.Upload) *zerolog.Event {
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
	if v := p.Verification; v != nil {
		fields.Int("verified_objects", v.Objects).Int64("verified_bytes", v.Bytes).Int("missing", v.Missing).Int("damaged", v.Damaged).Int("repaired", v.Repaired)
		if v.Left() > 0 {
			fields.Stringer("first", v.Damage[0])
		}
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

// notifyStale notifies hooks of stale data until ctx ends.
func (d *Daemon) notifyStale(ctx context.Context) {
	ticker := time.NewTicker(staleInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			d.engine.Hooks.NotifyStale()
		}
	}
}
