package download

import (
	"context"
	"errors"
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

	// Guarded by the mu of flights.
	stop context.CancelCauseFunc // ends the download; nil if nothing can be given up
	heir chan bool               // gets whether the download was given up; nil while nobody asks
}

// errGivenUp ends a download whose content a folder has.
var errGivenUp = errors.New("a folder that is adopted has the content")

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
	return f.tryBeginLocked(expected)
}

func (f *flights) tryBeginLocked(expected manifest.Digest) *flight {
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

// wait waits for the flight of a content, if there is one. The error is the context's.
func (f *flights) wait(ctx context.Context, expected manifest.Digest) error {
	f.mu.Lock()
	running := f.running[expected]
	f.mu.Unlock()
	if running == nil {
		return nil
	}
	select {
	case <-running.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// offer lets take end the download of a flight by stop, until it has landed.
func (f *flights) offer(expected manifest.Digest, stop context.CancelCauseFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running[expected].stop = stop
}

// landed notes that the download of a flight has ended. It is true if the flight was given
// up: the caller of take has its content now, and the download's caller begins again. An
// object that is complete is not given up.
func (f *flights) landed(expected manifest.Digest, failed bool) (givenUp bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ended := f.running[expected]
	ended.stop = nil
	if ended.heir == nil {
		return false
	}
	if failed {
		f.running[expected] = &flight{done: make(chan struct{})}
		close(ended.done) // others wait for the heir now
	}
	ended.heir <- failed
	return failed
}

// take is tryBegin for a caller that has the content already: a download of it gives way.
// It is false for a content that is complete, or that another caller of take has. The wait
// is short, because a download ends at once when its context does.
func (f *flights) take(expected manifest.Digest) bool {
	f.mu.Lock()
	other := f.tryBeginLocked(expected)
	if other == nil {
		f.mu.Unlock()
		return true
	}
	if other.stop == nil || other.heir != nil {
		f.mu.Unlock()
		return false
	}
	heir := make(chan bool, 1)
	other.heir = heir
	other.stop(errGivenUp)
	f.mu.Unlock()
	return <-heir
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
	f.adopted[expected] = &flight{done: closed, object: object}
}

func (f *flights) hasAdopted(expected manifest.Digest) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.adopted[expected] != nil
}

// forget drops what was adopted.
func (f *flights) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.adopted = nil
}

// closed is closed.
var closed = func() chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}()
