package emulator

import (
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
)

// matches returns whether the fault is for a request to a host.
func (f Fault) matches(host string, r *http.Request) bool {
	if f.Host != "" && f.Host != host {
		return false
	}
	if f.Kind == KindBadRange && r.Header.Get("Range") == "" {
		return false
	}
	return f.Path == "" || globMatch(f.Path, r.URL.Path)
}

// globMatch is path.Match without case, with * and ? that match a slash too. It
// replaces slashes by a byte that path.Match treats like a letter.
func globMatch(pattern, name string) bool {
	flat := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "/", "\x00") }
	ok, err := path.Match(flat(pattern), flat(name))
	return ok && err == nil
}

// FaultState is a fault with its counters.
type FaultState struct {
	ID      int
	Fault   Fault
	Matched int // requests that matched it
	Hits    int // matching requests that it was applied to
}

// faultList is the part of an Emulator that breaks its answers.
type faultList struct {
	mu     sync.Mutex
	last   int // ID of the newest fault
	faults []*FaultState
}

// AddFault adds a fault for all further requests, and returns its number for
// RemoveFault. A request gets the first fault, in the order of addition, that
// matches it and is due; it does not count for the later ones. AddFault panics on
// a fault that ParseFault would refuse.
func (l *faultList) AddFault(f Fault) (id int) {
	if err := f.check(); err != nil {
		panic("emulator: " + err.Error())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.faults = append(l.faults, &FaultState{ID: l.last, Fault: f})
	return l.last
}

// RemoveFault removes a fault. An unknown number does nothing.
func (l *faultList) RemoveFault(id int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = slices.DeleteFunc(l.faults, func(s *FaultState) bool { return s.ID == id })
}

// ClearFaults removes all faults. Requests being served keep theirs.
func (l *faultList) ClearFaults() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = nil
}

// Faults returns all faults in their order, also those with no hits left.
func (l *faultList) Faults() []FaultState {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]FaultState, len(l.faults))
	for i, s := range l.faults {
		all[i] = *s
	}
	return all
}

// pick returns the fault for a request, and counts matches and hits.
func (l *faultList) pick(host string, r *http.Request) (Fault, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.faults {
		if !s.Fault.matches(host, r) {
			continue
		}
		s.Matched++
		if s.Matched > s.Fault.Skip && (s.Fault.Times == 0 || s.Hits < s.Fault.Times) {
			s.Hits++
			return s.Fault, true
		}
	}
	return Fault{}, false
}
