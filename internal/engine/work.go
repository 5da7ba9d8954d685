package engine

import (
	"context"
	"errors"

	"syncd/internal/report"
	"syncd/internal/request"
	"syncd/internal/syncer"
)

// Sync does one sync; see syncer.Syncer.Sync.
func (e *Engine) Sync(ctx context.Context, req request.Sync) (result report.Sync, err error) {
	err = e.work(ctx, func(s *syncer.Syncer) (err error) {
		result, err = s.Sync(ctx, req)
		return err
	})
	return result, err
}

// Rollback publishes an earlier state; see syncer.Syncer.Rollback.
func (e *Engine) Rollback(ctx context.Context, req request.Rollback) (result report.Sync, err error) {
	err = e.work(ctx, func(s *syncer.Syncer) (err error) {
		result, err = s.Rollback(ctx, req)
		return err
	})
	return result, err
}

// Repair replaces damaged files; see syncer.Syncer.Repair.
func (e *Engine) Repair(ctx context.Context, req request.Verify) (result report.Verification, err error) {
	err = e.work(ctx, func(s *syncer.Syncer) (err error) {
		result, err = s.Repair(ctx, req)
		return err
	})
	return result, err
}

// work waits until no other work runs, then runs f with the configuration of that
// moment. It returns an error while the data directory is missing.
func (e *Engine) work(ctx context.Context, f func(*syncer.Syncer) error) error {
	select {
	case <-e.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { e.turn <- struct{}{} }()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := errors.Join(e.checkDataDir(), e.checkWritable()); err != nil {
		return err
	}
	active := e.active.Load()
	defer e.finish(active)
	return f(active.syncer)
}
