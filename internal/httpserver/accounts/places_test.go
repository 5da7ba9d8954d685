package accounts

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
)

// room is places for connections that come from nowhere.
type room struct {
	*Places
	ours []*Place
	shut []int // closed by the room, in order
}

// enter lets a connection in and names the one that it replaces, -1 for none.
func (r *room) enter(i int, who Identity) (replaced int, ok bool) {
	r.ours = append(r.ours, make([]*Place, max(i+1-len(r.ours), 0))...)
	before := len(r.shut)
	r.ours[i] = r.Take(who, func() { r.shut = append(r.shut, i) })
	if len(r.shut) > before {
		return r.shut[before], r.ours[i] != nil
	}
	return -1, r.ours[i] != nil
}

func TestABusyConnectionIsNotReplaced(t *testing.T) {
	r := &room{Places: NewPlaces(2, 0)}
	who := Identity{}
	r.enter(0, who)
	r.enter(1, who)
	r.ours[0].Begin()
	if replaced, ok := r.enter(2, who); !ok || replaced != 1 {
		t.Errorf("replaced %d instead of the idle one", replaced)
	}
	r.ours[2].Begin()
	if _, ok := r.enter(3, who); ok {
		t.Error("a busy one was replaced")
	}
	r.ours[0].End()
	if replaced, ok := r.enter(3, who); !ok || replaced != 0 {
		t.Errorf("replaced %d instead of the one whose request ended", replaced)
	}
	r.ours[0].Belongs(OfID("late"))
	for _, place := range r.ours {
		place.Leave()
		place.Leave()
		place.End()
	}
	if r.Open() != 0 || r.waiting.Len() != 0 || len(r.owners) != 0 {
		t.Errorf("%d open after all were closed", r.open)
	}
}

func TestAnAddressReplacesOnlyItsOwnConnections(t *testing.T) {
	r := &room{Places: NewPlaces(4, 2)}
	for i, want := range []int{-1, -1, -1, 1, 2} {
		who := OfAddress(netip.MustParseAddr(fmt.Sprintf("2001:db8::%d", i)))
		if i == 0 {
			who = OfAddress(netip.MustParseAddr("10.0.0.1"))
		}
		if replaced, ok := r.enter(i, who); !ok || replaced != want {
			t.Errorf("connection %d replaced %d, want %d", i, replaced, want)
		}
	}
}

// Hosts behind one address come back at once after their link was cut.
func TestAnAddressThatShowedAnIDTakesFreePlaces(t *testing.T) {
	r := &room{Places: NewPlaces(8, 2)}
	nat, other := OfAddress(netip.MustParseAddr("10.0.0.1")), OfAddress(netip.MustParseAddr("10.0.0.2"))
	r.enter(0, nat)
	r.ours[0].Belongs(OfID("first"))
	for i := 1; i < 7; i++ {
		if replaced, ok := r.enter(i, nat); !ok || replaced != -1 {
			t.Errorf("connection %d replaced %d although places are free", i, replaced)
		}
	}
	for i, want := range []int{-1, 1, 7} { // a free one, one of those that have most, its own
		if replaced, ok := r.enter(7+i, other); !ok || replaced != want {
			t.Errorf("the other address replaced %d, want %d", replaced, want)
		}
	}
	if replaced, ok := r.enter(10, nat); !ok || replaced != 2 {
		t.Errorf("without a free place, it replaced %d of another one", replaced)
	}
	r.ours[0].Leave()
	if replaced, ok := r.enter(11, nat); !ok || replaced != 3 || len(r.shown) > 0 {
		t.Errorf("after its last connection with an id, it replaced %d", replaced)
	}
}

func TestTheIdentityWithMostGivesItsNewestPlaceAway(t *testing.T) {
	r := &room{Places: NewPlaces(6, 0)}
	for i := range 6 {
		r.enter(i, OfAddress(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})))
		r.ours[i].Begin()
	}
	for i := range 5 {
		r.ours[i].Belongs(OfID("evil"))
	}
	for i := range 2 {
		if replaced, ok := r.enter(6+i, OfID("good")); !ok || replaced != 4-i {
			t.Errorf("replaced %d, %t", replaced, ok)
		}
		r.ours[6+i].Begin()
	}
	if _, ok := r.enter(8, OfID("good")); ok { // both have three, with this one
		t.Error("more than the share")
	}
	if got := r.owners[OfID("evil")].all.Len(); got != 3 || !slices.Equal(r.shut, []int{4, 3}) {
		t.Errorf("%d places, closed %v", got, r.shut)
	}
}

// Without ids, one user of the host can hold connections from any number of addresses.
func TestHeldConnectionsOfAnyoneKeepNobodyOut(t *testing.T) {
	r := &room{Places: NewPlaces(6, 3)}
	address := func(i int) Identity { return OfAddress(netip.AddrFrom4([4]byte{127, 0, 0, byte(i)})) }
	for i := range 6 {
		r.enter(i, address(i))
		r.ours[i].Begin()
		r.ours[i].Belongs(Anyone)
	}
	for i := 6; i < 10; i++ {
		if replaced, ok := r.enter(i, address(0)); !ok || replaced != i-6 {
			t.Errorf("connection %d replaced %d, %t", i, replaced, ok)
		}
		r.ours[i].Begin()
		r.ours[i].Belongs(Anyone)
	}
}
