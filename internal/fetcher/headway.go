package fetcher

import (
	"time"

	"syncd/internal/clients/transport"
)

// headway decides when the bytes of a transfer renew its retry budget. A few bytes of
// each attempt do not, or a file that drips would never fail.
type headway struct {
	least transport.MinRate
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
	if h.bytes < h.least.BytesIn(min(now.Sub(h.since), h.least.Over)) {
		return false
	}
	h.bytes, h.since = 0, now
	return true
}
