package fetcher

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"syncd/internal/clients/transport"
)

// MinRate is the least rate of a transfer: so many bytes per second over a window. A
// Rate below 1 allows any rate.
type MinRate struct {
	Rate int64
	Over time.Duration
}

// bytesIn returns how many bytes the least rate brings in a time.
func (m MinRate) bytesIn(d time.Duration) int64 { return int64(float64(m.Rate) * d.Seconds()) }

// pace measures how fast the body of one connection arrives. Only the time that
// passes while syncd waits for the provider counts, so that neither a slow disk nor the
// bandwidth limit makes a transfer slow.
type pace struct {
	least  MinRate
	bytes  int64 // in the present window
	waited time.Duration
}

// add counts bytes that syncd waited for. It returns a transient error at the end of a
// window that brought too few.
func (p *pace) add(bytes int, waited time.Duration) error {
	if p.least.Rate < 1 {
		return nil
	}
	p.bytes += int64(bytes)
	if p.waited += waited; p.waited < p.least.Over {
		return nil
	}
	window := *p
	p.bytes, p.waited = 0, 0
	if window.bytes >= p.least.bytesIn(window.waited) {
		return nil
	}
	return &transport.Error{Kind: transport.Transient, Endpoint: "Download", Err: fmt.Errorf("too slow: %s arrived in %s, less than source.min_rate allows (%s per second)",
		humanize.IBytes(uint64(window.bytes)), window.waited.Round(time.Second), humanize.IBytes(uint64(p.least.Rate)))}
}

// headway decides when the bytes of a transfer renew its retry budget. A few bytes of
// each attempt do not, or a file that drips would never fail.
type headway struct {
	least MinRate
	since time.Time // when the budget was renewed last
	bytes int64     // new ones since then
}

// pause excludes a pause from the measured time.
func (h *headway) pause(d time.Duration) { h.since = h.since.Add(d) }

// renews counts new bytes. It returns true when they came at the least rate, or are as
// many as one window must bring.
func (h *headway) renews(bytes int64) bool {
	now := time.Now()
	h.bytes += bytes
	if h.bytes < h.least.bytesIn(min(now.Sub(h.since), h.least.Over)) {
		return false
	}
	h.bytes, h.since = 0, now
	return true
}
