package source

import (
	"context"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/semaphore"

	"syncd/internal/clients/releases"
	"syncd/internal/manifest"
	"syncd/internal/report/progress"
)

// fullOnce is a provider whose first list does not fit.
type fullOnce struct {
	Provider
	calls int
}

func (p *fullOnce) Manifest(context.Context, manifest.Release, string, *releases.Share) (*manifest.List, error) {
	if p.calls++; p.calls == 1 {
		return nil, &releases.NoRoomError{Size: 1 << 20}
	}
	return &manifest.List{}, nil
}

func takeAll(t *testing.T, room *releases.Room) *releases.Share {
	share := room.NewShare()
	if err := share.Wait(t.Context(), 1<<40); err != nil {
		t.Fatal(err)
	}
	return share
}

func TestAListThatWaitsForMemoryHoldsNoRequestSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider, room := &fullOnce{}, releases.NewRoom()
		q := &questions{provider: provider, slots: semaphore.NewWeighted(maxRequests), progress: &progress.Tracker{}}
		others := takeAll(t, room)
		done := make(chan error, 1)
		go func() {
			_, err := q.listOf(t.Context(), "2026.10", "m", room.NewShare())
			done <- err
		}()
		synctest.Wait()
		if provider.calls != 1 || !q.slots.TryAcquire(maxRequests) {
			t.Fatalf("%d calls, want one and all slots free", provider.calls)
		}
		q.slots.Release(maxRequests)
		others.Release()
		if err := <-done; err != nil || provider.calls != 2 {
			t.Errorf("%v after %d calls, want the list at the second one", err, provider.calls)
		}
	})
}
