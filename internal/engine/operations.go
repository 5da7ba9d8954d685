package engine

import (
	"context"

	"syncd/internal/engine/operation"
	"syncd/internal/golive"
	"syncd/internal/golive/rollback"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/syncer"
)

// Operations returns what this engine can be asked to do.
func (e *Engine) Operations() *operation.Table { return e.operations }

func (e *Engine) newOperations() *operation.Table {
	return operation.NewTable(e.Progress,
		operation.Status.By(e.Status),
		operation.History.By(func() (report.History, error) { return e.History(report.HistoryLimit) }),
		operation.Deliveries.By(e.Hooks.list),
		operation.Samples.By(e.series.samples),
		operation.Alive.By(e.Alive),
		operation.Ready.By(e.Alive, func() error { return e.Ready(0) }),
		operation.Sync.By(traced(e, "sync", e.sync)),
		operation.SyncLocked.By(traced(e, "sync", e.sync)),
		operation.Rollback.By(traced(e, "rollback", working(e, uploading(e, proving(e.Probes, onTree(rollback.Do)))))),
		operation.Activate.By(traced(e, "activate", working(e, uploading(e, proving(e.Probes, e.Probes.again(onTree(golive.Activate))))))),
		operation.Probe.By(working(e, e.Probes.ask)),
		operation.Order.By(working(e, uploading(e, onTree(golive.Order)))),
		operation.Forget.By(working(e, uploading(e, onTree(golive.Forget)))),
		operation.Destroy.By(working(e, e.Destruction.command)),
		operation.Repair.By(working(e, onSyncer((*syncer.Syncer).Repair))),
		operation.Import.By(traced(e, "import", e.Bundles.take)),
		operation.Bundle.By(e.Bundles.export),
		operation.Adopt.By(working(e, onSyncer((*syncer.Syncer).Adopt))),
		operation.Upload.By(working(e, func(ctx context.Context, _ *active, req request.Upload) (report.Upload, error) {
			return e.Uploads.Now(ctx, req)
		})),
		operation.ChangeDeliveries.By(e.Hooks.change),
		operation.ServeRelease.By(e.Followers.release),
		operation.Fleet.By(func(_ context.Context, req request.Fleet) (report.FleetPage, error) { return e.Followers.Page(req) }),
	)
}

// method does an operation with the configuration in force.
type method[Request, Result any] = func(context.Context, *active, Request) (Result, error)

func onTree[Request, Result any](m func(context.Context, *golive.Tree, Request) (Result, error)) method[Request, Result] {
	return func(ctx context.Context, a *active, req Request) (Result, error) { return m(ctx, a.syncer.Tree(), req) }
}

func onSyncer[Request, Result any](m func(*syncer.Syncer, context.Context, Request) (Result, error)) method[Request, Result] {
	return func(ctx context.Context, a *active, req Request) (Result, error) { return m(a.syncer, ctx, req) }
}

// working runs m with the configuration in force; Close waits for it.
func working[Request, Result any](e *Engine, m method[Request, Result]) func(context.Context, Request) (Result, error) {
	return func(ctx context.Context, req Request) (result Result, err error) {
		err = e.work(ctx, func() error {
			active := e.begin()
			defer e.finish(active)
			result, err = m(ctx, active, req)
			return err
		})
		return result, err
	}
}

// uploading publishes to object storage what m has changed.
func uploading[Request any](e *Engine, m method[Request, report.Sync]) method[Request, report.Sync] {
	return func(ctx context.Context, a *active, req Request) (report.Sync, error) {
		result, err := m(ctx, a, req)
		if err == nil {
			result.Upload = e.Uploads.Upload(ctx)
		}
		return result, err
	}
}
