package rings

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/downstream/rings/promotion"
	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/report"
)

// Served is a revision that is served here.
type Served struct {
	Version
	LiveAt time.Time // when it first went live here
}

// Catalog lists what is served. Safe for concurrent use.
type Catalog interface {
	Manifests() []string // the names of all entries
	// Served returns an entry's revisions that lists may show, of each release the newest bytes
	// first; none for an unknown entry. It ignores case, and returns the name as it is
	// configured.
	Served(manifest string) (name string, revisions []Served)
	// Destroyed returns the revisions that were destroyed here, by manifest.
	Destroyed() map[string][]destruction.Gone
}

// Reader reads saved entries.
type Reader interface {
	Fleet(each func(key string, value json.RawMessage) error) error
}

// Saver keeps entries over restarts. What SetFleet saves is durable when it returns nil.
type Saver interface {
	Reader
	SetFleet(entries map[string]any) error
}

// Fleet is what is known of the followers. Safe for concurrent use.
type Fleet struct {
	catalog Catalog
	now     func() time.Time

	memory
	withheld map[string]Withheld // guarded by mu of the memory
}

// Withheld is what the upstream of this host shows it of a manifest no more, such as a release
// that was stopped there. The zero value is nothing.
type Withheld struct {
	Above    manifest.Release // newer releases
	Revision Version          // which this host serves all the same
}

func (w Withheld) holds(v Version) bool {
	return w.Revision.Release != "" && (v == w.Revision || v.Release.Newer(w.Above))
}

// Withhold replaces what followers of this host don't see, by manifest, unless they took it.
func (f *Fleet) Withhold(all map[string]Withheld) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !maps.Equal(f.withheld, all) {
		f.withheld = all
		f.decisions++
	}
}

// Decisions counts the decisions about what followers see: while it stays the same, only the
// delays of rings and a new catalog change that.
func (f *Fleet) Decisions() int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.decisions
}

// Withholds is true if followers don't see something that this host serves.
func (f *Fleet) Withholds() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return len(f.withheld) > 0
}

// New returns a Fleet with what was saved before, with at most maxHosts hosts of an ID. It
// uses what it can of that.
func New(catalog Catalog, saver Saver, maxHosts int, log zerolog.Logger) (*Fleet, error) {
	f := newFleet(catalog, maxHosts, log)
	f.saver = saver
	return f, f.open(saver)
}

// Read returns a Fleet of what was saved, by rings, that saves nothing; saved is nil for
// nothing.
func Read(catalog Catalog, saved Reader, configured []Ring, maxHosts int) (*Fleet, error) {
	f := newFleet(catalog, maxHosts, zerolog.Nop())
	f.rings = configured
	if saved == nil {
		return f, nil
	}
	return f, f.open(saved)
}

func newFleet(catalog Catalog, maxHosts int, log zerolog.Logger) *Fleet {
	f := &Fleet{catalog: catalog, now: time.Now, memory: memory{reports: newReports(maxHosts), rulings: newRulings()}}
	f.log = log
	f.listener.heard = map[place]heard{}
	return f
}

func (f *Fleet) open(saved Reader) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.readLocked(saved)
	f.expire(f.now())
	return err
}

// Configure puts rings and the most hosts of an ID in force, and judges by them what hosts
// have reported so far.
func (f *Fleet) Configure(configured []Ring, maxHosts int) {
	f.mu.Lock()
	f.rings, f.maxHosts = configured, maxHosts
	f.decisions++
	f.assign(f.rings)
	f.leaveFuture(f.now().UTC())
	for name, of := range f.accounts {
		f.trim(name, of)
	}
	var stops []report.Stop
	f.grandfatherLocked()
	for p, tally := range f.tallies {
		for _, refused := range tally.RefusedVersions() {
			if stop, isNew := f.judgeLocked(target{p.manifest, refused}, "", ""); isNew {
				stops = append(stops, stop)
			}
		}
	}
	f.mu.Unlock()
	f.announce(stops)
}

// Asker is a client that asks for something.
type Asker struct {
	name, ring string
	counted    string  // the configured ring that counts for it
	state      State   // the first one; the zero value if it sent none, but for the version of a syncd
	states     []State // that it sent
}

// Asker returns the sender of a request. name is the name of its ID, "" without IDs.
// A header that cannot be used counts as none.
func (f *Fleet) Asker(name, ring string, header http.Header) Asker {
	a := Asker{name: name, ring: ring, states: statesOf(header[HeaderState])}
	if len(a.states) > 0 {
		a.state = a.states[0]
	}
	if version, isSyncd := strings.CutPrefix(header.Get("User-Agent"), "syncd/"); isSyncd && a.state.Host == "" {
		a.state.Version = plain(version)
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if i, found := f.rings.Place(ring); found {
		a.counted = f.rings[i].Name
	}
	return a
}

// Visible is true if the asker may see a revision in lists.
func (f *Fleet) Visible(a Asker, manifestName string, s Served) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.visibleLocked(a, manifestName, s)
}

func (f *Fleet) visibleLocked(a Asker, name string, s Served) bool {
	i, found := f.rings.Place(a.ring)
	isBegun := !found || f.rings.Decide(i, f.past(name, s), f.now(), nil).Begun && !f.isHidden(target{name, s.Version}, i)
	if isBegun && !f.withheld[name].holds(s.Version) {
		return true
	}
	// A host that took the revision when it could see it would otherwise find an older one.
	taken := f.get(a.name, a.follower(name))
	return taken != nil && (taken.Took == s.Version || taken.Took == Version{Release: s.Release})
}

// Seen notes that a client polls manifests, and what it reports of them. Call it before
// Visible decides about the answer.
func (f *Fleet) Seen(a Asker, manifests ...string) {
	f.mu.Lock()
	var stops []report.Stop
	for _, name := range manifests {
		if stop, isNew := f.seenLocked(a, name); isNew {
			stops = append(stops, stop)
		}
	}
	begins := f.begins
	f.begins = false
	f.mu.Unlock()
	f.announce(stops)
	if begins && len(stops) == 0 { // before the ring sees it, so that a crash hides nothing again
		f.save()
	}
}

func (f *Fleet) seenLocked(a Asker, asked string) (report.Stop, bool) {
	name, published := f.catalog.Served(asked)
	if len(published) == 0 || f.isFirstPoll(a) || !f.admits(a.name, a.host(), f.now()) {
		return report.Stop{}, false
	}
	f.noteAhead(name, published, f.now())
	f.advanceLocked(name, published)
	next := hostReport{State: a.stateOf(name), Ring: f.rings.NameOf(a.ring), SeenAt: f.now().UTC()}
	var visible []Version
	for _, s := range newestFirst(published) {
		if f.visibleLocked(a, name, s) {
			visible = append(visible, s.Version)
		}
	}
	next.follow(f.get(a.name, a.follower(name)), visible)
	f.set(a.name, a.follower(name), &next)
	if p := (place{next.Ring, name}); next.hasState() && f.hear(p, next.SeenAt) {
		f.decided[heardKey(p)] = true
	}
	f.advanceLocked(name, published)
	against, counts := next.against()
	if !counts {
		return report.Stop{}, false
	}
	return f.judgeLocked(target{name, against}, a.name, a.state.Host)
}

// Forget drops hosts that have not polled for long.
func (f *Fleet) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(f.now())
	for _, p := range f.leave(f.now()) {
		f.decided[heardKey(p)] = true
	}
}

// Name tells which IDs there are, with their rings, and forgets the hosts of all others. Until
// then, rings that this host hears for less than a day are taken to have any number of IDs.
func (f *Fleet) Name(ids map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids = maps.Clone(ids)
	if f.ids == nil {
		f.ids = map[string]string{}
	}
	f.assign(f.rings)
	f.keepOnly(func(name string) bool {
		_, isNamed := f.ids[name]
		return name == "" || isNamed
	})
}

// votesLocked are what hosts say of a manifest.
func (f *Fleet) votesLocked(manifestName string) promotion.Votes {
	return func(ring string) promotion.Ballot {
		p := place{ring, manifestName}
		return promotion.Ballot{Tally: f.tallies[p], Named: f.expected(p, f.now())}
	}
}

// announce logs new stops and saves them at once.
func (f *Fleet) announce(stops []report.Stop) {
	for _, s := range stops {
		f.log.Warn().Str("manifest", s.Manifest).Str("release", string(s.Release)).Str("revision", s.Revision).Str("ring", s.By).Str("stopped_from", s.From).
			Int("refused", s.Refused).Int("hosts", s.Of).Msg("too many hosts refused the release: later rings don't see it until `syncd fleet release` or a newer one")
	}
	if len(stops) == 0 {
		return
	}
	if err := f.saveRulings(); err != nil {
		f.log.Warn().Err(err).Msg("saving a stopped release failed; the next save tries again")
	}
}

// newestFirst sorts revisions by their releases.
func newestFirst(revisions []Served) []Served {
	sorted := slices.Clone(revisions)
	slices.SortStableFunc(sorted, func(a, b Served) int { return cmp.Compare(b.Release, a.Release) })
	return sorted
}

// hasRelease is true if some manifest has a release.
func hasRelease(c Catalog, release manifest.Release) bool {
	for _, name := range c.Manifests() {
		if _, published := c.Served(name); slices.ContainsFunc(published, func(p Served) bool { return p.Release == release }) {
			return true
		}
	}
	return false
}

// Needed returns the revisions of a manifest that must stay downloadable, however many newer
// ones there are: the newest that each ring sees, and the one before if that may be stopped.
func (f *Fleet) Needed(manifestName string) (needed []Version) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	mayStop := false
	for i, ring := range f.rings {
		mayStop = mayStop || i > 0 && ring.StopAbove >= 0
		seen := f.seesLocked(manifestName, ring.Name)
		many := 1
		if len(seen) > 0 && mayStop && !f.isApproved(manifestName, seen[0]) {
			many = 2
		}
		for _, s := range seen[:min(many, len(seen))] {
			if !slices.Contains(needed, s.Version) {
				needed = append(needed, s.Version)
			}
		}
	}
	return needed
}

// Stopped returns how many releases each ring does not see because they were stopped.
func (f *Fleet) Stopped() map[string]int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	stopped := map[string]int{}
	for i, ring := range f.rings {
		stopped[ring.Name] = 0
		for s := range maps.Values(f.stops) {
			if f.hides(s, i) && f.isNewestLocked(s) {
				stopped[ring.Name]++
			}
		}
	}
	return stopped
}

// StoppedHere returns the stop of a manifest's newest release, if followers of this host stopped
// it.
func (f *Fleet) StoppedHere(manifestName string) (stop report.Stop, found bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, s := range f.sorted() {
		if s.Manifest == manifestName && f.isNewestLocked(s) {
			return s, true
		}
	}
	return report.Stop{}, false
}

// isNewestLocked is true while neither a newer release nor other bytes replace what was
// stopped.
func (f *Fleet) isNewestLocked(s report.Stop) bool {
	_, published := f.catalog.Served(s.Manifest)
	i := slices.IndexFunc(published, func(p Served) bool { return p.Release == s.Release })
	isReplaced := i >= 0 && s.Revision != "" && published[i].Revision != s.Revision
	return !isReplaced && !slices.ContainsFunc(published, func(p Served) bool { return p.Release.Newer(s.Release) })
}
