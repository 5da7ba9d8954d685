package rings

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/downstream/rings/promotion"
	"syncd/internal/report/request"
)

// Limits of the reports. A host has one for each manifest that it polls.
const (
	maxReports  = 200_000
	presentFor  = 24 * time.Hour     // a host proves something so long after its last poll
	forgetAfter = 7 * 24 * time.Hour // without a poll
	saveEvery   = time.Hour          // for a report in which only the time of the poll is new
)

// account is what is known of the hosts with one ID. Hosts name themselves, so an ID can
// make up any number of them. Only so many are remembered for each ID.
type account struct {
	hosts   map[host]map[string]*hostReport // by manifest; no map is empty
	count   int                             // of reports
	sorted  []host                          // nil after a change
	fullTo  time.Time                       // no host can be replaced before
	crowded bool                            // hosts were turned away
}

// lastSeen is when a host polled last.
func (a *account) lastSeen(h host) (last time.Time) {
	for _, r := range a.hosts[h] {
		if r.SeenAt.After(last) {
			last = r.SeenAt
		}
	}
	return last
}

// inOrder returns the hosts sorted by name.
func (a *account) inOrder() []host {
	if a.sorted == nil {
		a.sorted = slices.SortedFunc(maps.Keys(a.hosts), host.compare)
	}
	return a.sorted
}

// oldest returns the hosts that polled the longest ago, all but keep of them.
func (a *account) oldest(keep int) []host {
	seen := make(map[host]time.Time, len(a.hosts))
	for h := range a.hosts {
		seen[h] = a.lastSeen(h)
	}
	all := slices.SortedFunc(maps.Keys(seen), func(a, b host) int { return seen[a].Compare(seen[b]) })
	return all[:max(len(all)-keep, 0)]
}

// reports are what hosts told. A Fleet guards them.
type reports struct {
	log      zerolog.Logger
	limit    int                 // of all reports
	maxHosts int                 // of an ID
	accounts map[string]*account // by the name of the ID; none is empty
	count    int                 // of all reports
	tallies  map[place]*promotion.Tally
	changed  map[string]bool // keys of reports that are not saved yet
	due      map[string]bool // those that the Save under way saves
	surplus  bool            // the state has reports that were not loaded
	crowded  bool            // reports were dropped for new ones
}

func newReports(maxHosts int) reports {
	return reports{limit: maxReports, maxHosts: maxHosts, accounts: map[string]*account{}, tallies: map[place]*promotion.Tally{}, changed: map[string]bool{}, due: map[string]bool{}}
}

// get returns a report, nil for none.
func (f *reports) get(name string, k follower) *hostReport {
	if of := f.accounts[name]; of != nil {
		return of.hosts[k.host][k.Manifest]
	}
	return nil
}

// admits is false for a further host of an ID that has the most hosts. One that has not
// polled for long gives way. Hosts that poll keep their place, whatever an ID makes up.
func (f *reports) admits(name string, h host, now time.Time) bool {
	of := f.accounts[name]
	if h == (host{}) || of == nil || of.hosts[h] != nil || len(of.hosts) < f.maxHosts {
		return true
	}
	if wait := of.fullTo.Sub(now); wait > 0 && wait <= silentAfter {
		return false
	}
	first := of.oldest(len(of.hosts) - 1)
	if of.fullTo = of.lastSeen(first[0]).Add(silentAfter); now.After(of.fullTo) {
		f.dropHost(name, first[0])
		return true
	}
	if !of.crowded {
		of.crowded = true
		f.log.Warn().Str("name", name).Int("hosts", f.maxHosts).Msg("more hosts than serve.max_hosts poll with one id: the others are not shown, and their refusals do not count")
	}
	return false
}

// hostsAfter yields the names of IDs and their hosts in order, from the one after key on.
func (f *reports) hostsAfter(key *request.Follower) iter.Seq2[string, host] {
	return func(yield func(string, host) bool) {
		for _, name := range slices.Sorted(maps.Keys(f.accounts)) {
			hosts := f.accounts[name].inOrder()
			if key != nil && name < key.Name {
				continue
			}
			if key != nil && name == key.Name {
				at, found := slices.BinarySearchFunc(hosts, host{key.Host, key.Instance}, host.compare)
				if found {
					at++
				}
				hosts = hosts[at:]
			}
			for _, h := range hosts {
				if !yield(name, h) {
					return
				}
			}
		}
	}
}

// trim drops hosts of an ID above the limit, those that polled the longest ago.
func (f *reports) trim(name string, of *account) {
	for _, h := range of.oldest(f.maxHosts) {
		f.dropHost(name, h)
	}
}

// loaded leaves the hosts of an ID that polled last, and keeps no keys of the others: an
// earlier version saved any number of them. They are removed from the state later.
func (f *reports) loaded(name string, of *account) {
	for _, h := range of.oldest(f.maxHosts) {
		f.surplus = true
		for _, manifestName := range slices.Collect(maps.Keys(of.hosts[h])) {
			f.put(name, follower{h, manifestName}, nil)
		}
	}
}

// isFirstPoll is true for a syncd that will tell its state when it has seen our
// answer: its ID told before. It forgets that the ID did not.
func (f *reports) isFirstPoll(a Asker) bool {
	of := f.accounts[a.name]
	if of == nil {
		return false
	}
	silent := of.hosts[host{}]
	if a.state.Host == "" {
		return a.state.Version != "" && len(of.hosts) > min(len(silent), 1)
	}
	for manifestName, r := range silent {
		if r.Version != "" {
			f.drop(a.name, follower{Manifest: manifestName})
		}
	}
	return false
}

// refusers names hosts of a ring that refused a revision: the first of each ID, then the
// second, so that no ID hides others by hosts that it makes up.
func (f *reports) refusers(t target, ring string) (names []string) {
	byID, longest := map[string][]string{}, 0
	for name, of := range f.accounts {
		for _, h := range of.inOrder() {
			if r := of.hosts[h][t.manifest]; r != nil && r.Ring == ring && r.vote().Refuses == t.Version {
				byID[name] = append(byID[name], hostName(name, h.Name))
			}
		}
		longest = max(longest, len(byID[name]))
	}
	ids := slices.Sorted(maps.Keys(byID))
	for n := 0; n < longest && len(names) < maxNamed; n++ {
		for _, name := range ids {
			if n < len(byID[name]) && len(names) < maxNamed {
				names = append(names, byID[name][n])
			}
		}
	}
	slices.Sort(names)
	return names
}

// set replaces a report.
func (f *reports) set(name string, k follower, next *hostReport) {
	before := f.get(name, k)
	if before == nil {
		f.makeRoom()
	}
	next.Since, next.isPresent = next.SeenAt, true
	if before != nil {
		if before.Refused == next.Refused && before.Reason == next.Reason {
			next.Since = before.Since
		}
		next.savedAt, next.stored = before.savedAt, before.stored
	}
	if before == nil || !before.same(next) || next.SeenAt.Sub(before.savedAt) >= saveEvery {
		next.savedAt = next.SeenAt
		f.changed[reportKey(name, k)] = true
	}
	f.put(name, k, next)
}

// put puts a report in place of the one before; nil removes it.
func (f *reports) put(name string, k follower, next *hostReport) {
	of := f.accounts[name]
	if of == nil {
		of = &account{hosts: map[host]map[string]*hostReport{}}
		f.accounts[name] = of
	}
	if before := of.hosts[k.host][k.Manifest]; before != nil {
		f.tallied(name, k, before, -1)
		delete(of.hosts[k.host], k.Manifest)
		of.count, f.count = of.count-1, f.count-1
	}
	if next != nil {
		if of.hosts[k.host] == nil {
			of.hosts[k.host], of.sorted = map[string]*hostReport{}, nil
		}
		f.tallied(name, k, next, 1)
		of.hosts[k.host][k.Manifest] = next
		of.count, f.count = of.count+1, f.count+1
	}
	if len(of.hosts[k.host]) == 0 {
		delete(of.hosts, k.host)
		of.sorted, of.fullTo = nil, time.Time{}
	}
	if len(of.hosts) == 0 {
		delete(f.accounts, name)
	}
}

func (f *reports) tallied(name string, k follower, r *hostReport, n int) {
	if !r.hasState() {
		return
	}
	p := place{r.Ring, k.Manifest}
	if f.tallies[p] == nil {
		f.tallies[p] = &promotion.Tally{}
	}
	f.tallies[p].Add(name, r.vote(), n)
	if f.tallies[p].Hosts() == 0 {
		delete(f.tallies, p)
	}
}

// expire takes the votes of hosts that did not poll for a day.
func (f *reports) expire(now time.Time) {
	for name, of := range f.accounts {
		for h, manifests := range of.hosts {
			for manifestName, r := range manifests {
				if r.isPresent && now.Sub(r.SeenAt) > presentFor {
					f.tallied(name, follower{h, manifestName}, r, -1)
					r.isPresent = false
					f.tallied(name, follower{h, manifestName}, r, 1)
				}
			}
		}
	}
}

// makeRoom drops a host of the ID that has most reports, so that one ID that makes up
// hosts pushes out no others.
func (f *reports) makeRoom() {
	if f.count < f.limit {
		return
	}
	largest := ""
	for name, of := range f.accounts {
		if f.accounts[largest] == nil || of.count > f.accounts[largest].count {
			largest = name
		}
	}
	for h := range f.accounts[largest].hosts {
		f.dropHost(largest, h)
		break
	}
	if !f.crowded {
		f.crowded = true
		f.log.Warn().Str("name", largest).Int("reports", f.limit).Msg("too many hosts follow this one: forgetting some of the name with most of them")
	}
}

func (f *reports) dropHost(name string, h host) {
	for _, manifestName := range slices.Collect(maps.Keys(f.accounts[name].hosts[h])) {
		f.drop(name, follower{h, manifestName})
	}
}

// drop forgets a report. One that the state never had leaves nothing to be saved, so that
// made-up hosts need no memory while the disk is full.
func (f *reports) drop(name string, k follower) {
	if key := reportKey(name, k); f.get(name, k).stored {
		f.changed[key] = true
	} else {
		delete(f.changed, key)
		delete(f.due, key)
	}
	f.put(name, k, nil)
}

// forget drops reports of hosts that have not polled for long.
func (f *reports) forget(now time.Time) {
	for name, of := range f.accounts {
		for h, manifests := range of.hosts {
			for manifestName, r := range manifests {
				if now.Sub(r.SeenAt) > forgetAfter {
					f.drop(name, follower{h, manifestName})
				}
			}
		}
	}
}

// keepOnly drops the hosts of IDs that were removed.
func (f *reports) keepOnly(isKnown func(name string) bool) {
	for name, of := range f.accounts {
		if isKnown(name) {
			continue
		}
		for _, h := range slices.Collect(maps.Keys(of.hosts)) {
			f.dropHost(name, h)
		}
	}
}
