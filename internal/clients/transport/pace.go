package transport

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
)

// MinRate is the least rate of a transfer: so many bytes per second over a window. A
// Rate below 1 allows any rate.
type MinRate struct {
	Rate int64
	Over time.Duration
}

// BytesIn returns how many bytes the least rate brings in a time.
func (m MinRate) BytesIn(d time.Duration) int64 { return int64(float64(m.Rate) * d.Seconds()) }

// Pace measures how fast the body of one answer arrives. Only the time that passes while
// syncd waits for the provider counts, so that neither a slow disk nor the bandwidth limit
// makes a transfer slow. Not safe for concurrent use.
type Pace struct {
	Least    MinRate
	Endpoint string // that the errors name

	bytes  int64 // in the present window
	waited time.Duration
}

// Add counts bytes that syncd waited for. It returns a transient error at the end of a
// window that brought too few.
func (p *Pace) Add(bytes int, waited time.Duration) error {
	if p.Least.Rate < 1 {
		return nil
	}
	p.bytes += int64(bytes)
	if p.waited += waited; p.waited < p.Least.Over {
		return nil
	}
	window := *p
	p.bytes, p.waited = 0, 0
	if window.bytes >= p.Least.BytesIn(window.waited) {
		return nil
	}
	return &Error{Kind: Transient, Endpoint: p.Endpoint, Err: fmt.Errorf("too slow: %s arrived in %s, less than source.min_rate allows (%s per second)",
		humanize.IBytes(uint64(window.bytes)), window.waited.Round(time.Second), humanize.IBytes(uint64(p.Least.Rate)))}
}
