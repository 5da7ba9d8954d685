package clock

import (
	"sync"
	"time"

	"syncd/internal/manifest/expiry"
)

// saveEvery is how often a newer Date header is saved: not with every poll, but so often
// that a restart knows one that counts.
const saveEvery = 15 * time.Minute

// Witness remembers the last Date header of the provider or the upstream, which tells a wrong
// clock of this machine. Safe for concurrent use.
type Witness struct {
	save func(header, seenAt time.Time)

	mu     sync.Mutex // guards what follows
	header time.Time
	seenAt time.Time
	saved  time.Time // seenAt of the last one that was saved
}

// NewWitness returns a Witness that knows a header of an earlier process, or the zero time.
// save is called now and then with a newer one, so that a restart can pass it.
func NewWitness(header, seenAt time.Time, save func(header, seenAt time.Time)) *Witness {
	return &Witness{header: header, seenAt: seenAt, saved: seenAt, save: save}
}

// Note takes a Date header that was sent just now.
func (w *Witness) Note(header time.Time) {
	now := time.Now().Round(0)
	w.mu.Lock()
	// The clock may have been set since. A header from another day may decide about data.
	isDue := now.Sub(w.saved).Abs() >= saveEvery || header.Sub(w.header).Abs() >= saveEvery
	w.header, w.seenAt = header, now
	if isDue {
		w.saved = now
	}
	w.mu.Unlock()
	if isDue {
		w.save(header, now)
	}
}

// Present is what the clock and the header say now.
func (w *Witness) Present() expiry.Present {
	w.mu.Lock()
	defer w.mu.Unlock()
	return expiry.Present{Clock: time.Now().Round(0), Header: w.header, SeenAt: w.seenAt}
}
