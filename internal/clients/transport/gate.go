package transport

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// maxCoolDown limits the wait that a provider can ask for.
const maxCoolDown = 24 * time.Hour

// maxOrigins is how many origins can have a cool-down. A server that redirects to ever more
// addresses gets no more remembered, and none beyond these written to the disk.
const maxOrigins = 1000

// Gate holds the cool-down of each origin: the time until which the provider asked
// not to be called (Retry-After). Clients share a Gate, so that all of them wait. Safe
// for concurrent use.
type Gate struct {
	saving sync.Mutex // keeps the calls of save in order; taken before mu
	save   func(origin string, until time.Time)

	mu    sync.Mutex
	until map[string]time.Time
}

// NewGate returns a Gate with the cool-downs in known. save, which may be nil, is
// called with each change, so that a restart can pass it as known.
func NewGate(known map[string]time.Time, save func(origin string, until time.Time)) *Gate {
	g := &Gate{save: save, until: make(map[string]time.Time)}
	now := time.Now()
	for origin, until := range known {
		wait := until.Sub(now)
		// now has a monotonic reading, so a later change of the clock has no effect.
		g.until[origin] = now.Add(min(wait, maxCoolDown))
		if wait > maxCoolDown && save != nil {
			// A clock that was ahead noted this time. Save the shorter one, or each
			// restart would wait a whole day again.
			save(origin, g.until[origin])
		}
	}
	return g
}

// Until returns when origin may be called again; the zero time means now.
func (g *Gate) Until(origin string) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := g.until[origin]; time.Now().Before(until) {
		return until
	}
	return time.Time{}
}

// Hold starts a cool-down of an origin. It never shortens one.
func (g *Gate) Hold(origin string, wait time.Duration) {
	until := time.Now().Add(min(wait, maxCoolDown))
	g.mu.Lock()
	if !until.After(g.until[origin]) || !g.hasRoomLocked(origin) {
		g.mu.Unlock()
		return
	}
	g.until[origin] = until
	g.mu.Unlock()
	if g.save == nil {
		return
	}
	g.saving.Lock()
	defer g.saving.Unlock()
	g.mu.Lock()
	until = g.until[origin] // another call may have made it longer
	g.mu.Unlock()
	g.save(origin, until)
}

// hasRoomLocked forgets cool-downs that have ended where there are many.
func (g *Gate) hasRoomLocked(origin string) bool {
	if _, known := g.until[origin]; known || len(g.until) < maxOrigins {
		return true
	}
	now := time.Now()
	maps.DeleteFunc(g.until, func(_ string, until time.Time) bool { return !now.Before(until) })
	return len(g.until) < maxOrigins
}

// wait waits until origin may be called. It returns *CoolingDown at once when that
// takes longer than patience, and the context's error when that ends first.
func (g *Gate) wait(ctx context.Context, origin string, patience time.Duration) error {
	for {
		until := g.Until(origin)
		if until.IsZero() {
			return context.Cause(ctx)
		}
		left := time.Until(until)
		if left > patience {
			return &CoolingDown{Origin: origin, Until: until}
		}
		if err := sleep(ctx, left); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// retryAfter parses Retry-After: seconds or a date. It returns 0 when the header is
// absent, invalid or in the past.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(max(seconds, 0), int64(maxCoolDown/time.Second))) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return min(max(date.Sub(now), 0), maxCoolDown)
	}
	return 0
}
