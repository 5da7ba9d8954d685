package rings

import (
	"maps"
	"time"

	"syncd/internal/downstream/rings/promotion"
)

// gatherFor is how long the IDs of a ring have to ask about a manifest for the first time. So
// long, those that did not ask count, too.
const gatherFor = 24 * time.Hour

// untold stands for the number of IDs while nobody told who has one, as in a command.
const untold = 1 << 20

// heard says since when this host hears of a manifest from a ring. It begins anew after
// silence, because an ID that asks then would be the whole ring.
type heard struct {
	Since time.Time // the zero time for a ring of which an earlier syncd heard
	last  time.Time
}

// listener knows which IDs a ring has, and since when they are heard. A Fleet guards it.
type listener struct {
	heard map[place]heard
	ids   map[string]string // ring by name; nil if nobody told
	named map[string]int    // IDs by the ring that counts
}

// assign counts the IDs of each ring.
func (l *listener) assign(rings promotion.Rings) {
	l.named = map[string]int{}
	for _, ring := range l.ids {
		l.named[rings.NameOf(ring)]++
	}
}

// hear notes that a host of a ring asks about a manifest. It is true if that is to be saved.
func (l *listener) hear(p place, now time.Time) (isNew bool) {
	h := l.heard[p]
	if isNew = now.Sub(h.last) > silentAfter; isNew {
		h.Since = now
	}
	h.last = now
	l.heard[p] = h
	return isNew
}

// recall notes what a saved report tells.
func (l *listener) recall(p place, last time.Time) {
	if h := l.heard[p]; last.After(h.last) {
		h.last = last
		l.heard[p] = h
	}
}

// leave forgets rings that are silent for long, and yields them.
func (l *listener) leave(now time.Time) (gone []place) {
	for p, h := range maps.All(l.heard) {
		if now.Sub(h.last) > forgetAfter {
			delete(l.heard, p)
			gone = append(gone, p)
		}
	}
	return gone
}

// expected is how many IDs of a ring count about a manifest, even if they never asked; 0 when
// they had their time.
func (l *listener) expected(p place, now time.Time) int {
	switch h := l.heard[p]; {
	case now.Sub(h.Since).Abs() >= gatherFor:
		return 0
	case l.ids == nil:
		return untold
	}
	return l.named[p.ring]
}
