package syncer

import (
	"context"
	"sync"

	"syncd/internal/manifest"
)

// contents are the contents that are being fetched, so that several syncs do not fetch
// the same one at once. Safe for concurrent use.
type contents struct {
	mu       sync.Mutex
	fetching map[manifest.Digest]*fetching
	adopted  map[manifest.Digest]*fetching // while syncs run that may have planned to fetch them
}

// fetching is one content from the start of its download until it is an object.
type fetching struct {
	done   chan struct{}   // closed at the end
	object manifest.Object // zero after a failure; written before done is closed
}

// claim claims a content for its caller, which must call settle. If another caller
// fetches it, claim waits and returns the object; after a failure of that caller it
// claims the content after all. The error is the context's.
func (c *contents) claim(ctx context.Context, expected manifest.Digest) (object manifest.Object, fetched bool, err error) {
	for {
		other := c.tryClaim(expected)
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

// tryClaim returns nil if the content is the caller's now.
func (c *contents) tryClaim(expected manifest.Digest) *fetching {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.fetching[expected]; other != nil {
		return other
	}
	if adopted := c.adopted[expected]; adopted != nil {
		return adopted
	}
	if c.fetching == nil {
		c.fetching = map[manifest.Digest]*fetching{}
	}
	c.fetching[expected] = &fetching{done: make(chan struct{})}
	return nil
}

// settle ends a claim: with the object, or the zero value after a failure.
func (c *contents) settle(expected manifest.Digest, object manifest.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.fetching[expected]
	delete(c.fetching, expected)
	f.object = object
	close(f.done)
}

// settleAdopted ends a claim with an object that came from a folder. Running syncs may
// have planned to download it.
func (c *contents) settleAdopted(expected manifest.Digest, object manifest.Object) {
	c.settle(expected, object)
	if object == (manifest.Object{}) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.adopted == nil {
		c.adopted = map[manifest.Digest]*fetching{}
	}
	c.adopted[expected] = &fetching{done: ended, object: object}
}

// forget drops what was adopted, when no sync runs that planned before.
func (c *contents) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.adopted = nil
}

// ended is closed.
var ended = func() chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}()
