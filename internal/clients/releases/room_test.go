package releases

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"testing"
	"testing/synctest"
)

// writeLinks writes a list without its end.
func writeLinks(w http.ResponseWriter, files int) {
	body := bufio.NewWriter(w)
	fmt.Fprint(body, `["/Download/Data/2026.10/a"`)
	for i := range files {
		fmt.Fprintf(body, `,"/Download/Data/2026.10/%d"`, i)
	}
	_ = body.Flush()
}

func TestALongListThatDripsHoldsUpNoOther(t *testing.T) {
	dripping, end := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writeLinks(w, 20_000)
		if path.Base(r.URL.Path) == "slow" {
			w.(http.Flusher).Flush()
			close(dripping)
			<-end
		}
		fmt.Fprint(w, "]")
	}))
	defer server.Close()
	c, room := connect(t, server.URL), NewRoom()
	slow := make(chan error)
	go func() {
		_, err := c.Manifest(t.Context(), "2026.10", "slow", room.NewShare())
		slow <- err
	}()
	<-dripping
	if list, err := c.Manifest(t.Context(), "2026.10", "fast", room.NewShare()); err != nil || list.Len() != 20_001 {
		t.Errorf("the other list: %v, %v", list, err)
	}
	close(end)
	if err := <-slow; err != nil {
		t.Errorf("the slow list: %v", err)
	}
}

func TestAListThatDoesNotFitIsReadOnceThereIsRoom(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeLinks(w, 20_000)
		fmt.Fprint(w, "]")
	}))
	defer server.Close()
	c, room := connect(t, server.URL), NewRoom()
	other, share := room.NewShare(), room.NewShare()
	must(t, other.Wait(t.Context(), maxListSize-2<<20))
	_, err := c.Manifest(t.Context(), "2026.10", "m", share)
	var full *NoRoomError
	if !errors.As(err, &full) || share.held != 0 {
		t.Fatalf("%v, %d bytes held, want no room and nothing held", err, share.held)
	}
	other.Release()
	must(t, share.Wait(t.Context(), full.Size))
	list, err := c.Manifest(t.Context(), "2026.10", "m", share)
	if err != nil || list.Size() > full.Size || share.held > list.Size() {
		t.Fatalf("%v, size %d, %d bytes held, %d measured", err, list.Size(), share.held, full.Size)
	}
	share.Release()
	share.Release()
	if !room.free.TryAcquire(maxListSize) {
		t.Error("not all room was given back")
	}
}

func TestListsWaitForRoomInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := NewRoom()
		holder := room.NewShare()
		must(t, holder.Wait(t.Context(), maxListSize))
		var order []string
		wait := func(name string, size int) {
			go func() {
				share := room.NewShare()
				if err := share.Wait(t.Context(), size); err != nil {
					t.Error(err)
				}
				order = append(order, name)
				share.Release()
			}()
			synctest.Wait()
		}
		wait("large", 2*maxListSize) // counts as the largest one that is accepted
		wait("small", step+1)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("stop"))
		if err := room.NewShare().Wait(ctx, step+1); err == nil || err.Error() != "stop" {
			t.Errorf("%v, want the context's cause", err)
		}
		holder.Release()
		synctest.Wait()
		if len(order) != 2 || order[0] != "large" {
			t.Errorf("%q, want the large one first", order)
		}
	})
}
