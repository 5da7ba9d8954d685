package sources

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// Store keeps what is known of the sources beyond the end of the process.
type Store interface {
	Sources() (store.Sources, error)
	SetSources(store.Sources) error
}

// Shown is told which sources are in use, and which fail, each since when.
type Shown interface {
	SourcesAre(names []string, used, failing map[string]time.Time)
}

// Source is one of several, and how to sync from it.
type Source struct {
	Name, Address string
	Sync          func(context.Context, request.Sync) (report.Sync, error)
}

// Config is what New needs.
type Config struct {
	Sources   []Source
	Manifests []string // of the configuration
	Store     Store
	Shown     Shown
	Outbox    *outbox.Outbox           // is told when a manifest comes from another source
	Current   func() mirror.Generation // is served
	Log       zerolog.Logger
}

// List has the sources in order of preference. Safe for concurrent use.
type List struct {
	cfg Config

	mu    sync.Mutex // guards what follows
	known store.Sources
}

// New returns the list with what an earlier process knew.
func New(cfg Config) (*List, error) {
	l := &List{cfg: cfg}
	var err error
	l.known, err = cfg.Store.Sources()
	l.mu.Lock()
	defer l.mu.Unlock()
	isOurs := func(name string) bool {
		return slices.ContainsFunc(cfg.Sources, func(s Source) bool { return s.Name == name })
	}
	maps.DeleteFunc(l.known.Failing, func(name string, _ store.SourceFailure) bool { return !isOurs(name) })
	maps.DeleteFunc(l.known.Of, func(manifest, name string) bool { return !isOurs(name) || !slices.Contains(cfg.Manifests, manifest) })
	l.known.Used = usedSince(l.known, time.Now().UTC())
	l.showLocked()
	return l, err
}

// usedSince is since when each source is in use, by its name.
func usedSince(known store.Sources, now time.Time) map[string]time.Time {
	used := map[string]time.Time{}
	for _, name := range known.Of {
		used[name] = laterOf(known.Used[name], now)
	}
	return used
}

// Sync takes a sync from the sources in turn, until none of its manifests is left. What a lock file
// names comes from one source, all or nothing. A plan notes nothing of the sources.
func (l *List) Sync(ctx context.Context, req request.Sync) (sum report.Sync, err error) {
	turns := l.turns(req.Demand || req.Force || len(req.Lockfile) > 0, time.Now())
	for n, source := range turns {
		isLast := n == len(turns)-1
		var mu sync.Mutex
		faults := map[string]error{}
		req.SetAside = func(name string, err error) bool {
			if !isOfSource(err) {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			faults[name] = err
			return !isLast
		}
		var result report.Sync
		result, err = source.Sync(ctx, req)
		if ctx.Err() != nil {
			return add(sum, result), err
		}
		if req.DryRun {
			faults = planFaults(result)
		} else {
			l.note(source.Name, takenOf(result, faults), faults)
		}
		switch {
		case isLast || len(faults) == 0 || err != nil:
			return add(sum, result), err
		case len(req.Lockfile) > 0:
			continue
		}
		result.Manifests = slices.DeleteFunc(result.Manifests, func(m report.ManifestResult) bool { return faults[m.Name] != nil })
		sum, req.Manifests = add(sum, result), slices.Sorted(maps.Keys(faults))
	}
	return sum, err
}

// planFaults are the manifests of a plan that another source may have.
func planFaults(result report.Sync) map[string]error {
	faults := map[string]error{}
	for _, m := range result.Manifests {
		isBad := m.Result == report.Failed || m.Result == report.Refused
		if isBad && m.Reason != string(refusal.NoSpace) {
			faults[m.Name] = errors.New(m.Error)
		}
	}
	return faults
}

// add is the outcome of both.
func add(sum, more report.Sync) report.Sync {
	if sum.Manifests == nil {
		return more
	}
	sum.Generation, sum.Changed = max(sum.Generation, more.Generation), sum.Changed || more.Changed
	sum.Manifests = append(sum.Manifests, more.Manifests...)
	sum.Views, sum.Exports = report.AddViews(sum.Views, more.Views), report.AddExports(sum.Exports, more.Exports)
	return sum
}

// isOfSource is true for an error that another source may not have.
func isOfSource(err error) bool { return !refusal.IsLocal(err) && !errors.Is(err, context.Canceled) }

// turns are the sources to try, in order. Those that rest come into play when no other is left.
func (l *List) turns(all bool, now time.Time) []Source {
	l.mu.Lock()
	defer l.mu.Unlock()
	rests := func(s Source) bool {
		wait := l.known.Failing[s.Name].NextTry.Sub(now)
		return wait > 0 && wait <= longestRest // a longer one is of another clock
	}
	awake := slices.DeleteFunc(slices.Clone(l.cfg.Sources), rests)
	if all || len(awake) == 0 {
		return slices.Clone(l.cfg.Sources)
	}
	return awake
}

// A source that failed rests for so long, twice as long after each further failure.
const firstRest, longestRest = 10 * time.Second, 5 * time.Minute

// takenOf are the manifests of a sync that came from its source.
func takenOf(result report.Sync, faults map[string]error) (taken []string) {
	for _, m := range result.Manifests {
		if faults[m.Name] == nil {
			taken = append(taken, m.Name)
		}
	}
	return taken
}

// note notes the outcome of a sync from a source: the manifests that came from it, and why others
// did not.
func (l *List) note(name string, taken []string, faults map[string]error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now().UTC()
	known := store.Sources{Of: cloned(l.known.Of), Used: l.known.Used, Failing: cloned(l.known.Failing)}
	delete(known.Failing, name)
	if len(faults) > 0 {
		first := faults[slices.Min(slices.Collect(maps.Keys(faults)))]
		was := l.known.Failing[name]
		count := was.Count + 1
		failure := store.SourceFailure{
			Since: laterOf(was.Since, now), Count: count, NextTry: now.Add(min(firstRest<<min(count-1, 10), longestRest)),
			Reason: cmp.Or(string(refusal.ReasonOf(first)), string(report.Failed)), Error: report.OneLine(first.Error()),
		}
		known.Failing[name] = failure
		if was.Count == 0 {
			l.cfg.Log.Warn().Str("source", name).Str("reason", failure.Reason).Str("error", failure.Error).Msg("a source cannot be used")
		}
	}
	for _, manifest := range taken {
		known.Of[manifest] = name
	}
	known.Used = usedSince(known, now)
	isNews := len(faults) > 0 || len(known.Failing) != len(l.known.Failing) || !maps.Equal(known.Of, l.known.Of)
	l.tellLocked(name, taken)
	l.known = known
	l.showLocked()
	if !isNews {
		return
	}
	if err := l.cfg.Store.SetSources(known); err != nil {
		l.cfg.Log.Warn().Err(err).Msg("saving which sources are in use failed; syncd status may show older ones")
	}
}

// tellLocked tells log and hooks which manifests come from another source than before. A crash
// right after it tells them again.
func (l *List) tellLocked(name string, taken []string) {
	current := l.cfg.Current()
	moved := map[string][]string{}
	for _, manifest := range taken {
		before := cmp.Or(l.known.Of[manifest], l.cfg.Sources[0].Name)
		served, isServed := current.Records[manifest]
		if before == name || !isServed {
			continue
		}
		moved[before] = append(moved[before], manifest)
		failure := l.known.Failing[before]
		reason := strings.TrimPrefix(failure.Reason, string(report.Failed))
		if err := l.cfg.Outbox.Add(l.cfg.Outbox.Source(served, current.Number, name, failure.Error, reason)); err != nil {
			l.cfg.Log.Warn().Err(err).Str("manifest", manifest).Msg("telling hooks of another source failed")
		}
	}
	for _, before := range slices.Sorted(maps.Keys(moved)) {
		l.cfg.Log.Info().Str("source", name).Str("before", before).Strs("manifests", moved[before]).Msg("another source is in use")
	}
}

// cloned is a copy that can be written to.
func cloned[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return maps.Clone(m)
}

// laterOf is since, or now if that is zero.
func laterOf(since, now time.Time) time.Time {
	if since.IsZero() {
		return now
	}
	return since
}

func (l *List) showLocked() {
	var names []string
	for _, s := range l.cfg.Sources {
		names = append(names, s.Name)
	}
	failing := map[string]time.Time{}
	for name, f := range l.known.Failing {
		failing[name] = f.Since
	}
	l.cfg.Shown.SourcesAre(names, l.known.Used, failing)
}
