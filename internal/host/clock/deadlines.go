package clock

import (
	"sync"
	"time"
)

// Deadlines looks at saved times by both clocks. Once it has seen one, a wall clock that
// is set back does not postpone it. The zero value is ready; safe for concurrent use.
type Deadlines struct {
	mu   sync.Mutex
	seen map[string]Deadline
}

// Passed is true when the saved time of that name has passed. Another time for the name
// replaces the one before.
func (d *Deadlines) Passed(name string, at time.Time, now Instant) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	deadline, known := d.seen[name]
	if !known || !deadline.Wall().Equal(at) {
		deadline = now.Until(at)
		if d.seen == nil {
			d.seen = map[string]Deadline{}
		}
		d.seen[name] = deadline
	}
	return deadline.Passed(now)
}
