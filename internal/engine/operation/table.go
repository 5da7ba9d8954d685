package operation

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"time"

	"syncd/internal/report"
)

// showInterval is how often Table.Do shows the progress.
const showInterval = 100 * time.Millisecond

// Handler is a row of the table with the function that does it.
type Handler struct {
	Operation
	newRequest, newResult func() any // pointers
	do                    func(ctx context.Context, req, result any) error
}

// Read reads a request from JSON.
func (h Handler) Read(text io.Reader) (req any, err error) {
	req = h.newRequest()
	return req, json.NewDecoder(text).Decode(req)
}

// Do does the operation. req comes from Read; it is nil for a query.
func (h Handler) Do(ctx context.Context, req any) (result any, err error) {
	result = h.newResult()
	return result, h.do(ctx, req, result)
}

// Table does operations in this process. It does not change once it is made.
type Table struct {
	Progress func() report.Progress // of the running work
	handlers map[Operation]Handler
}

// NewTable returns the table of an engine.
func NewTable(progress func() report.Progress, handlers ...Handler) *Table {
	return (&Table{Progress: progress}).With(handlers...)
}

// With returns the table with other handlers for some operations.
func (t *Table) With(handlers ...Handler) *Table {
	changed := &Table{Progress: t.Progress, handlers: map[Operation]Handler{}}
	maps.Copy(changed.handlers, t.handlers)
	for _, h := range handlers {
		changed.handlers[h.Operation] = h
	}
	return changed
}

// Handlers returns all handlers by the method and path of the control socket.
func (t *Table) Handlers() map[string]Handler {
	byPath := map[string]Handler{}
	for op, h := range t.handlers {
		method := "POST "
		if op.IsQuery {
			method = "GET "
		}
		byPath[method+op.Path] = h
	}
	return byPath
}

// Do implements Engine.
func (t *Table) Do(ctx context.Context, op Operation, req, result any, show func(report.Progress)) error {
	h, known := t.handlers[op]
	if !known {
		return fmt.Errorf("%s is not done here", op.Path)
	}
	if show != nil {
		defer t.watch(show)()
	}
	return h.do(ctx, req, result)
}

// watch calls show with the progress, again and again, until the returned function is
// called.
func (t *Table) watch(show func(report.Progress)) (end func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(showInterval)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
				show(t.Progress())
			}
		}
	}()
	return func() { close(quit); <-done }
}
