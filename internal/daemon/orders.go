package daemon

import (
	"context"

	"syncd/internal/engine/operation"
	"syncd/internal/report/request"
)

// TriggerActivation begins an activation and returns without waiting for it, as the other
// triggers do. They wait for the loop until ctx ends.
func (d *Daemon) TriggerActivation(ctx context.Context, req request.Activate) error {
	return begin(ctx, d, operation.Activate, req)
}

// TriggerRollback begins a rollback.
func (d *Daemon) TriggerRollback(ctx context.Context, req request.Rollback) error {
	return begin(ctx, d, operation.Rollback, req)
}

// TriggerOrder begins to note an order.
func (d *Daemon) TriggerOrder(ctx context.Context, req request.Order) error {
	return begin(ctx, d, operation.Order, req)
}

// begin hands work to the loop.
func begin[Request, Result any](ctx context.Context, d *Daemon, work operation.Work[Request, Result], req Request) error {
	select {
	case d.orders <- func(ctx context.Context) { _, _ = work.Do(ctx, d.operations, req) }: // it has logged the outcome
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
