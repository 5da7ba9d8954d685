package engine

import (
	"context"

	"syncd/internal/engine/operation"
	"syncd/internal/report"
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
		operation.FleetStatus.By(e.Followers.Status),
		operation.Alive.By(e.Alive),
		operation.Ready.By(e.Alive, func() error { return e.Ready(0) }),
		operation.Sync.By(e.sync),
		operation.SyncLocked.By(e.sync),
		operation.Rollback.By(working(e, uploading(e, (*syncer.Syncer).Rollback))),
		operation.Activate.By(working(e, uploading(e, (*syncer.Syncer).Activate))),
		operation.Order.By(working(e, uploading(e, (*syncer.Syncer).Order))),
		operation.Forget.By(working(e, uploading(e, (*syncer.Syncer).Forget))),
		operation.Repair.By(working(e, (*syncer.Syncer).Repair)),
		operation.Adopt.By(working(e, (*syncer.Syncer).Adopt)),
		operation.Publish.By(e.uploads.publishNow),
		operation.ChangeDeliveries.By(e.Hooks.change),
		operation.ServeRelease.By(e.Followers.release),
	)
}

// method is a method of the syncer that does an operation.
type method[Request, Result any] = func(*syncer.Syncer, context.Context, Request) (Result, error)

// working runs m with the configuration in force; Close waits for it.
func working[Request, Result any](e *Engine, m method[Request, Result]) func(context.Context, Request) (Result, error) {
	return func(ctx context.Context, req Request) (result Result, err error) {
		err = e.work(ctx, func() error {
			active := e.active.Load()
			defer e.finish(active)
			result, err = m(active.syncer, ctx, req)
			return err
		})
		return result, err
	}
}

// uploading publishes to object storage what m has changed.
func uploading[Request any](e *Engine, m method[Request, report.Sync]) method[Request, report.Sync] {
	return func(s *syncer.Syncer, ctx context.Context, req Request) (report.Sync, error) {
		result, err := m(s, ctx, req)
		if err == nil {
			result.Publication = e.uploads.publish(ctx)
		}
		return result, err
	}
}
