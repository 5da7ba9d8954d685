package web

import (
	"context"
	"net/http"

	"golang.org/x/sync/semaphore"
)

// renderer serves the expensive responses, pages and histories, so that a flood of requests
// leaves CPU and memory to a sync. One is made at a time, and the others wait.
type renderer struct {
	turn   *semaphore.Weighted
	unsent *semaphore.Weighted // bytes of responses that clients have not received yet
}

func newRenderer() renderer {
	return renderer{turn: semaphore.NewWeighted(1), unsent: semaphore.NewWeighted(maxUnsent)}
}

// serve sends what render makes. It holds the turn no longer than render needs, because a
// slow client must not keep the others waiting.
func (v renderer) serve(w http.ResponseWriter, r *http.Request, contentType string, render func() ([]byte, error)) {
	body, err := v.make(r.Context(), render)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	size := min(int64(len(body)), maxUnsent)
	if !v.unsent.TryAcquire(size) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many slow clients at once", http.StatusServiceUnavailable)
		return
	}
	defer v.unsent.Release(size)
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body) // an error means that the client is gone
}

func (v renderer) make(ctx context.Context, render func() ([]byte, error)) ([]byte, error) {
	if err := v.turn.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	defer v.turn.Release(1)
	return render()
}
