package clock

import (
	"sync"
	"time"

	"syncd/internal/manifest/expiry"
)

// saveEvery is how often what a Witness knows is saved: not with every poll, but so often that
// a restart knows a header that counts, and the time that passed.
const saveEvery = 15 * time.Minute

// Witness remembers what tells a wrong clock of this machine: the last Date header of the
// provider or the upstream, or the last bundle and the time that passed since. Safe for
// concurrent use.
type Witness struct {
	save func(expiry.Present)

	mu      sync.Mutex // guards what follows
	seen    expiry.Present
	saved   expiry.Present
	savedAt time.Time
}

// NewWitness returns a Witness that knows what an earlier process saved; the zero value for
// nothing. save is called now and then with what is known, so that a restart can pass it.
func NewWitness(seen expiry.Present, save func(expiry.Present)) *Witness {
	w := &Witness{seen: seen, saved: seen, savedAt: seen.SeenAt, save: save}
	if seen.IsCarried() {
		w.savedAt = seen.LookedAt
	}
	return w
}

// Note takes a Date header that was sent just now.
func (w *Witness) Note(header time.Time) {
	w.note(func(p expiry.Present) expiry.Present { return p.Heed(header) })
}

// Carry takes the time at which a bundle was issued.
func (w *Witness) Carry(issued time.Time) {
	w.note(func(p expiry.Present) expiry.Present { return p.Carry(issued) })
}

// Pass sees the time pass, which counts on a host without headers. isCarried is true for one
// whose data comes in bundles.
func (w *Witness) Pass(isCarried bool) {
	w.note(func(p expiry.Present) expiry.Present {
		if isCarried {
			p = p.Begin()
		}
		return p
	})
}

// note changes what is known, and saves it if that is due: the clock may have been set since,
// and a header or a bundle from another day may decide about data.
func (w *Witness) note(change func(expiry.Present) expiry.Present) {
	now := time.Now().Round(0)
	w.mu.Lock()
	before := w.seen
	w.seen = change(before.Look(now))
	w.seen.Clock = time.Time{}
	isNews := w.seen.Header.Sub(before.Header).Abs() >= saveEvery || !w.seen.Issued.Equal(before.Issued) || w.seen.IsCarried() != before.IsCarried()
	seen, isDue := w.seen, isNews || w.seen != w.saved && now.Sub(w.savedAt).Abs() >= saveEvery
	if isDue {
		w.saved, w.savedAt = seen, now
	}
	w.mu.Unlock()
	if isDue {
		w.save(seen)
	}
}

// Present is what the clock and the second witness say now.
func (w *Witness) Present() expiry.Present {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen.Look(time.Now().Round(0))
}
