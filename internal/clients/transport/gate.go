package transport

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// maxCoolDown is the longest that a provider's wish to wait is honoured.
const maxCoolDown = 24 * time.Hour

// Gate remembers, for each origin, until when the provider asked not to be
// called. Clients share one, so that all of them wait. Safe for concurrent use.
type Gate struct {
	saving sync.Mutex // taken before mu; keeps the calls of save in order
	save   func(origin string, until time.Time)

	mu    sync.Mutex
	until map[string]time.Time
}

// NewGate returns a Gate that starts from what was known before. save, which may
// be nil, is told of each change, to keep it across restarts.
func NewGate(known map[string]time.Time, save func(origin string, until time.Time)) *Gate {
	g := &Gate{save: save, until: make(map[string]time.Time)}
	now := time.Now()
	for origin, until := range known {
		wait := until.Sub(now)
		// As a distance from now it holds however the clock is set from here on.
		g.until[origin] = now.Add(min(wait, maxCoolDown))
		if wait > maxCoolDown && save != nil {
			// Noted by a clock that was ahead; each restart would begin the day again.
			save(origin, g.until[origin])
		}
	}
	return g
}

// Until is when origin may be called again; the zero time when at once.
func (g *Gate) Until(origin string) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := g.until[origin]; time.Now().Before(until) {
		return until
	}
	return time.Time{}
}

// Hold records that origin asked to wait. A shorter wish never replaces a longer one.
func (g *Gate) Hold(origin string, wait time.Duration) {
	until := time.Now().Add(min(wait, maxCoolDown))
	g.mu.Lock()
	if !until.After(g.until[origin]) {
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
	until = g.until[origin] // a longer one may have come meanwhile
	g.mu.Unlock()
	g.save(origin, until)
}

// pass waits until origin may be called, or returns *CoolingDown when that is
// longer than patience, or the context's error.
func (g *Gate) pass(ctx context.Context, origin string, patience time.Duration) error {
	for {
		until := g.Until(origin)
		if until.IsZero() {
			return context.Cause(ctx)
		}
		wait := time.Until(until)
		if wait > patience {
			return &CoolingDown{Origin: origin, Until: until}
		}
		if err := sleep(ctx, wait); err != nil {
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

// retryAfter reads the header in both of its forms; 0 when it is absent or past.
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
