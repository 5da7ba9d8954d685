package web

import (
	"context"
	"net/http"

	"golang.org/x/sync/semaphore"
)

// renderer serves the expensive responses, pages, histories and fleets, so that a flood of
// requests leaves CPU and memory to a sync. One is made at a time, and the others wait.
type renderer struct {
	turn   *semaphore.Weighted
	unsent *semaphore.Weighted // bytes of pages and histories that clients have not received yet
	fleets *semaphore.Weighted // fleets that clients have not received yet; they keep out no page
}

func newRenderer() renderer {
	return renderer{turn: semaphore.NewWeighted(1), unsent: semaphore.NewWeighted(maxUnsent), fleets: semaphore.NewWeighted(maxFleets)}
}

// serve sends what render makes. It holds the turn no longer than render needs, because a
// slow client must not keep the others waiting.
func (v renderer) serve(w http.ResponseWriter, r *http.Request, contentType string, render func() ([]byte, error)) {
	var body []byte
	err := v.inTurn(r.Context(), func() (err error) {
		body, err = render()
		return err
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	size := min(int64(len(body)), maxUnsent)
	if !v.unsent.TryAcquire(size) {
		refuse(w)
		return
	}
	defer v.unsent.Release(size)
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body) // an error means that the client is gone
}

func refuse(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "too many slow clients at once", http.StatusServiceUnavailable)
}

func (v renderer) inTurn(ctx context.Context, do func() error) error {
	if err := v.turn.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	defer v.turn.Release(1)
	return do()
}
