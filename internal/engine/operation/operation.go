package operation

import (
	"context"

	"syncd/internal/metrics"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// Limits of a request in bytes. It can name every manifest of a configuration. A lock file
// names every file.
const (
	maxRequest = 1 << 20
	maxLocked  = 64 << 20
)

// Queries, which an engine answers at once.
var (
	Status     = Query[report.Status]{question("/status")}         // of each configured manifest
	History    = Query[report.History]{question("/history")}       // the newest entries first
	Deliveries = Query[report.Deliveries]{question("/deliveries")} // that wait, and those that were given up
	Samples    = Query[[]metrics.Sample]{question("/samples")}     // of the metrics
)

// Checks, which have no result but an error.
var (
	Alive = Check{question("/health")}       // of the engine and its data directory
	Ready = Check{question("/health?ready")} // Alive, and every manifest is served
)

// Work, which may take long.
var (
	Sync             = Work[request.Sync, report.Sync]{task("/sync", maxRequest)}
	SyncLocked       = Work[request.Sync, report.Sync]{task("/sync/locked", maxLocked)} // Sync for a request with a lock file
	Rollback         = Work[request.Rollback, report.Sync]{task("/rollback", maxRequest)}
	Activate         = Work[request.Activate, report.Sync]{task("/activate", maxRequest)}
	Probe            = Work[request.Probe, report.Probes]{task("/probe", maxRequest)}
	Order            = Work[request.Order, report.Sync]{task("/order", maxRequest)}
	Forget           = Work[request.Forget, report.Sync]{task("/forget", maxRequest)}
	Destroy          = Work[request.Destroy, report.DestroyResult]{task("/destroy", maxRequest)}
	Upload           = Work[request.Upload, report.Upload]{task("/publish", maxRequest)}
	Repair           = Work[request.Verify, report.Verification]{task("/repair", maxRequest)}
	Adopt            = Work[request.Adopt, report.Adoption]{task("/adopt", maxRequest)}
	Import           = Work[request.Import, report.Sync]{task("/import", maxRequest)}
	Bundle           = Work[request.Bundle, report.BundleTexts]{task("/bundle", maxRequest)}
	ChangeDeliveries = Work[request.Deliveries, report.Deliveries]{task("/deliveries", maxRequest)}
	Fleet            = Work[request.Fleet, report.FleetPage]{task("/fleet", maxRequest)} // a part of the followers
	ServeRelease     = Work[request.ServeRelease, []report.Stop]{task("/serve-release", maxRequest)}
)

// Operation is a row of the table without its types.
type Operation struct {
	Path       string // of the control socket
	IsQuery    bool
	MaxRequest int64 // bytes
}

func question(path string) Operation { return Operation{Path: path, IsQuery: true} }

func task(path string, limit int64) Operation { return Operation{Path: path, MaxRequest: limit} }

// Engine does operations. It is a Table, or the client of an engine in another process.
type Engine interface {
	// Do does an operation. req and result are pointers; req is nil for a query. While the
	// work runs, Do calls show with its progress, unless show is nil.
	Do(ctx context.Context, op Operation, req, result any, show func(report.Progress)) error
}

// Query is an operation that needs no request and no work.
type Query[Result any] struct{ Operation }

// Ask asks an engine.
func (q Query[Result]) Ask(ctx context.Context, e Engine) (result Result, err error) {
	err = e.Do(ctx, q.Operation, nil, &result, nil)
	return result, err
}

// By returns the Handler that answers q by calling answer.
func (q Query[Result]) By(answer func() (Result, error)) Handler {
	return Handler{
		Operation:  q.Operation,
		newRequest: func() any { return nil },
		newResult:  func() any { return new(Result) },
		do: func(_ context.Context, _, result any) (err error) {
			*result.(*Result), err = answer()
			return err
		},
	}
}

// Check is a query that only succeeds or fails.
type Check struct{ Operation }

// Ask asks an engine.
func (c Check) Ask(ctx context.Context, e Engine) error {
	_, err := Query[struct{}](c).Ask(ctx, e)
	return err
}

// By returns the Handler that does c by calling checks in turn, up to the first that fails.
func (c Check) By(checks ...func() error) Handler {
	return Query[struct{}](c).By(func() (none struct{}, err error) {
		for _, check := range checks {
			if err = check(); err != nil {
				break
			}
		}
		return none, err
	})
}

// Work is an operation that may take long.
type Work[Request, Result any] struct{ Operation }

// Do has an engine do the work.
func (w Work[Request, Result]) Do(ctx context.Context, e Engine, req Request) (Result, error) {
	return w.Watch(ctx, e, req, nil)
}

// Watch is Do and calls show with the progress of the work.
func (w Work[Request, Result]) Watch(ctx context.Context, e Engine, req Request, show func(report.Progress)) (result Result, err error) {
	err = e.Do(ctx, w.Operation, &req, &result, show)
	return result, err
}

// By returns the Handler that does w by calling do.
func (w Work[Request, Result]) By(do func(context.Context, Request) (Result, error)) Handler {
	return Handler{
		Operation:  w.Operation,
		newRequest: func() any { return new(Request) },
		newResult:  func() any { return new(Result) },
		do: func(ctx context.Context, req, result any) (err error) {
			*result.(*Result), err = do(ctx, *req.(*Request))
			return err
		},
	}
}
