package patches

import (
	"context"
	"io"
	"sync/atomic"
	"time"
)

// pace is how fast a worker goes. The lowest priority alone does not keep it out of the way of
// a sync: processors share their caches and often their cores, and the disk knows no priority
// on many hosts. So it works for a tenth of the time while a sync writes. It does not stop
// then: a sync over a slow line can take days, and followers wait for patches.
//
// The zero value goes at full speed.
type pace struct {
	slow   atomic.Bool
	rested time.Time // when the last rest ended; only the goroutine that reads uses it
}

// restShare is how much longer than the work before it a rest is; longestRest bounds it.
const (
	restShare   = 9
	longestRest = 2 * time.Second
)

// make is Make at this pace.
func (p *pace) make(ctx context.Context, before, after Part, most int64, to io.WriterAt) (size int64, err error) {
	p.rested = time.Now()
	return makeRead(ctx, before, after, most, to, func() { p.rest(ctx) })
}

// rest waits, if the worker goes slowly, after the work since the last rest.
func (p *pace) rest(ctx context.Context) {
	if p.slow.Load() {
		select {
		case <-ctx.Done():
		case <-time.After(min(restShare*time.Since(p.rested), longestRest)):
		}
	}
	p.rested = time.Now()
}
