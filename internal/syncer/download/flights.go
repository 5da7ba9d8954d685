package download

import (
	"context"
	"sync"

	"syncd/internal/manifest"
)

// flights are the contents that are being fetched, so that several syncs do not fetch
// the same one at once. Safe for concurrent use.
type flights struct {
	mu      sync.Mutex
	running map[manifest.Digest]*flight
	adopted map[manifest.Digest]*flight // while syncs run that may have planned to fetch them
}

// flight is one content from the start of its download until it is an object.
type flight struct {
	done   chan struct{}   // closed at the end
	object manifest.Object // zero after a failure; written before done is closed
}

// begin begins the flight of a content, which the caller must end. If another caller
// fetches it, begin waits and returns the object; after a failure of that caller it
// begins after all. The error is the context's.
func (f *flights) begin(ctx context.Context, expected manifest.Digest) (object manifest.Object, fetched bool, err error) {
	for {
		other := f.tryBegin(expected)
		if other == nil {
			return manifest.Object{}, false, nil
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return manifest.Object{}, false, context.Cause(ctx)
		}
		if other.object != (manifest.Object{}) {
			return other.object, true, nil
		}
	}
}

// tryBegin returns nil if the caller has begun the flight.
func (f *flights) tryBegin(expected manifest.Digest) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.running[expected]; other != nil {
		return other
	}
	if adopted := f.adopted[expected]; adopted != nil {
		return adopted
	}
	if f.running == nil {
		f.running = map[manifest.Digest]*flight{}
	}
	f.running[expected] = &flight{done: make(chan struct{})}
	return nil
}

// end ends a flight: with the object, or the zero value after a failure.
func (f *flights) end(expected manifest.Digest, object manifest.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ended := f.running[expected]
	delete(f.running, expected)
	ended.object = object
	close(ended.done)
}

// adopt ends a flight with an object that came from a folder. Running syncs may have
// planned to download it.
func (f *flights) adopt(expected manifest.Digest, object manifest.Object) {
	f.end(expected, object)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.adopted == nil {
		f.adopted = map[manifest.Digest]*flight{}
	}
	f.adopted[expected] = &flight{done: landed, object: object}
}

// forget drops what was adopted.
func (f *flights) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.adopted = nil
}

// landed is closed.
var landed = func() chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}()
