package accounts

import (
	"container/list"
	"context"
	"sync"
)

// Places bounds open connections, all of them and those of one identity. A connection in
// excess takes the place of another one: that of its own identity, or of the identity that
// has most, or the one that has waited longest for a request. So clients that send nothing,
// or keep many answers waiting, cannot keep others out. An address from which some
// connection has shown an id may stand for thousands of hosts, so its new connections take
// any free place, and replace one another only when none is free. Safe for concurrent use.
type Places struct {
	most, mostOfOne int // mostOfOne is 0 for as many as most; it bounds new connections, so an id may gather more

	mu      sync.Mutex
	open    int
	waiting list.List // those without a request; the one that has waited longest comes first
	owners  map[Identity]*owner
	shown   map[Identity]int // open connections that showed an id, by the identity that took the place
}

// owner has the places of one identity.
type owner struct {
	all     list.List // the newest comes last
	waiting list.List
}

// Place is that of one connection.
type Place struct {
	of   *Places
	drop func()

	// The following are guarded by of.mu.
	from, who              Identity // that took the place, and that it belongs to
	gone                   bool
	inAll                  *list.Element // of the owner
	inWaiting, inWaitingOf *list.Element // of all and of the owner; nil while a handler works on a request
}

// NewPlaces returns places for most connections, and for mostOfOne of one identity.
func NewPlaces(most, mostOfOne int) *Places {
	return &Places{most: most, mostOfOne: mostOfOne, owners: map[Identity]*owner{}, shown: map[Identity]int{}}
}

// Open returns the number of open connections.
func (p *Places) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// Take returns a place for a connection, nil if there is none. drop ends the connection
// when another one takes its place. It must not block.
func (p *Places) Take(who Identity, drop func()) *Place {
	p.mu.Lock()
	defer p.mu.Unlock()
	if replaced, ok := p.replacedLocked(who); !ok {
		return nil
	} else if replaced != nil {
		replaced.leaveLocked()
		replaced.drop()
	}
	place := &Place{of: p, drop: drop, from: who, who: who}
	p.open++
	place.enterLocked()
	place.waitLocked()
	return place
}

// replacedLocked returns the place that a new one of an identity replaces, nil for none. It
// is false when there is no room.
func (p *Places) replacedLocked(who Identity) (replaced *Place, ok bool) {
	own := 0
	if o := p.owners[who]; o != nil {
		own = o.all.Len()
	}
	if p.mostOfOne > 0 && own >= p.mostOfOne && (p.open >= p.most || p.shown[who] == 0) {
		replaced = first(&p.owners[who].waiting)
		return replaced, replaced != nil
	}
	if p.open < p.most {
		return nil, true
	}
	var largest *owner
	for _, o := range p.owners {
		if largest == nil || o.all.Len() > largest.all.Len() {
			largest = o
		}
	}
	if largest != nil && largest.all.Len() > own+1 {
		if replaced = first(&largest.waiting); replaced == nil {
			replaced = largest.busy()
		}
		return replaced, true
	}
	replaced = first(&p.waiting)
	return replaced, replaced != nil
}

// busy is the place that an owner gives away when a handler works on all: that which has
// sent least, so that the others end soon.
func (o *owner) busy() *Place {
	if oldest := o.all.Front().Value.(*Place); oldest.who == Anyone {
		return oldest
	}
	return o.all.Back().Value.(*Place)
}

func first(places *list.List) *Place {
	if e := places.Front(); e != nil {
		return e.Value.(*Place)
	}
	return nil
}

type placeKey struct{}

// WithPlace keeps the place of a connection in the context of its requests.
func WithPlace(ctx context.Context, p *Place) context.Context {
	return context.WithValue(ctx, placeKey{}, p)
}

// PlaceOf returns the place of a request's connection, nil for none.
func PlaceOf(ctx context.Context) *Place {
	p, _ := ctx.Value(placeKey{}).(*Place)
	return p
}

// Begin and End say whether a handler works on a request of the connection. After each
// request, the connection waits for the next.
func (p *Place) Begin() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.workLocked()
}

// End is described at Begin.
func (p *Place) End() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if !p.gone && p.inWaiting == nil {
		p.waitLocked()
	}
}

// Belongs notes whose connection it is, once that is known by more than the address. p may
// be nil.
func (p *Place) Belongs(who Identity) {
	if p == nil {
		return
	}
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.gone || p.who == who {
		return
	}
	isWaiting := p.inWaiting != nil
	p.workLocked()
	p.exitLocked()
	p.who = who
	p.enterLocked()
	if isWaiting {
		p.waitLocked()
	}
}

// Leave gives the place back.
func (p *Place) Leave() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.leaveLocked()
}

func (p *Place) leaveLocked() {
	if p.gone {
		return
	}
	p.workLocked()
	p.exitLocked()
	p.gone = true
	p.of.open--
}

func (p *Place) enterLocked() {
	o := p.of.owners[p.who]
	if o == nil {
		o = &owner{}
		p.of.owners[p.who] = o
	}
	p.inAll = o.all.PushBack(p)
	if p.who.id != "" {
		p.of.shown[p.from]++
	}
}

func (p *Place) exitLocked() {
	o := p.of.owners[p.who]
	if o.all.Remove(p.inAll); o.all.Len() == 0 {
		delete(p.of.owners, p.who)
	}
	if p.who.id == "" {
		return
	}
	if p.of.shown[p.from]--; p.of.shown[p.from] == 0 {
		delete(p.of.shown, p.from)
	}
}

func (p *Place) waitLocked() {
	p.inWaiting, p.inWaitingOf = p.of.waiting.PushBack(p), p.of.owners[p.who].waiting.PushBack(p)
}

func (p *Place) workLocked() {
	if p.inWaiting != nil {
		p.of.waiting.Remove(p.inWaiting)
		p.of.owners[p.who].waiting.Remove(p.inWaitingOf)
		p.inWaiting, p.inWaitingOf = nil, nil
	}
}
