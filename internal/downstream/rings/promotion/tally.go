package promotion

import "math"

// Vote is what one host says of one manifest.
type Vote struct {
	IsPresent bool    // the host polled in the last day
	Proves    Version // that it serves, and that its consumers work with; zero for none
	Refuses   Version // zero for none
}

// vote is the weight of an ID. Its hosts divide it, in whole numbers so that no order of
// sums matters.
const vote int64 = 1 << 40

// electorate are the hosts of an ID.
type electorate struct{ hosts, present int }

// Tally counts the hosts of one ring that mirror one manifest. The zero value has none; nil is
// one to read.
type Tally struct {
	ids     map[string]electorate
	hosts   int
	present int                        // IDs with a host that is present
	refused map[Version]map[string]int // hosts by ID
	proven  map[Version]map[string]int // hosts that are present, by ID
}

// Add counts a host of an ID; n is -1 to take its earlier vote back.
func (t *Tally) Add(id string, v Vote, n int) {
	if t.ids == nil {
		t.ids, t.refused, t.proven = map[string]electorate{}, map[Version]map[string]int{}, map[Version]map[string]int{}
	}
	e := t.ids[id]
	wasPresent := e.present > 0
	e.hosts += n
	t.hosts += n
	if v.IsPresent {
		e.present += n
		count(t.proven, v.Proves, id, n)
	}
	count(t.refused, v.Refuses, id, n)
	switch {
	case !wasPresent && e.present > 0:
		t.present++
	case wasPresent && e.present == 0:
		t.present--
	}
	if t.ids[id] = e; e.hosts == 0 {
		delete(t.ids, id)
	}
}

func count(of map[Version]map[string]int, v Version, id string, n int) {
	if v == (Version{}) {
		return
	}
	if of[v] == nil {
		of[v] = map[string]int{}
	}
	if of[v][id] += n; of[v][id] == 0 {
		delete(of[v], id)
	}
	if len(of[v]) == 0 {
		delete(of, v)
	}
}

// Hosts is the number of hosts.
func (t *Tally) Hosts() int {
	if t == nil {
		return 0
	}
	return t.hosts
}

// Refused is the number of hosts that refuse a version.
func (t *Tally) Refused(v Version) (hosts int) {
	if t == nil {
		return 0
	}
	for _, n := range t.refused[v] {
		hosts += n
	}
	return hosts
}

// RefusedVersions are those that some host refuses.
func (t *Tally) RefusedVersions() (all []Version) {
	for v := range t.refused {
		all = append(all, v)
	}
	return all
}

// Proven is the number of hosts that prove a version, and of those that are present.
func (t *Tally) Proven(v Version) (hosts, present int) {
	if t == nil {
		return 0, 0
	}
	for _, n := range t.proven[v] {
		hosts += n
	}
	for _, e := range t.ids {
		present += e.present
	}
	return hosts, present
}

// Ballot is what the hosts of a ring say of a manifest, and how many IDs have a vote at least.
type Ballot struct {
	*Tally
	Named int // IDs of the ring, whether their hosts said something or not; 0 if only those count that did
}

func (b Ballot) refusedMoreThan(v Version, share float64) bool {
	t := b.Tally
	if t == nil || len(t.refused[v]) == 0 {
		return false
	}
	sum := int64(0)
	for id, n := range t.refused[v] {
		sum += vote / int64(t.ids[id].hosts) * int64(n)
	}
	return float64(sum) > share*float64(vote)*float64(max(len(t.ids), b.Named))
}

// Proves is true when enough hosts prove a version for a ring that waits for them. A host that
// was silent for a day is no success, and its ID goes on having its part.
func (b Ballot) Proves(v Version, ring Ring) bool {
	t := b.Tally
	if t == nil || len(t.proven[v]) == 0 {
		return false
	}
	sum, hosts, most := int64(0), 0, part(ring.AfterHosts, max(len(t.ids), b.Named))
	for id, n := range t.proven[v] {
		sum += vote / int64(t.ids[id].present) * int64(n)
		hosts += min(n, most)
	}
	rounding := float64(t.hosts) // less than 1 for each host
	return hosts >= ring.AfterHosts && float64(sum)+rounding >= math.Floor(ring.AfterShare*float64(vote)*float64(max(t.present, b.Named)))
}
