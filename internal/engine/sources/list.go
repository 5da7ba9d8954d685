package sources

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// Store keeps what is known of the sources beyond the end of the process.
type Store interface {
	Sources() (store.Sources, error)
	SetSources(store.Sources) error
}

// Shown is told which source is in use, and which fail.
type Shown interface {
	SourcesAre(names []string, inUse string, failing map[string]time.Time)
}

// Source is one of several, and how to sync from it.
type Source struct {
	Name, Address string
	Sync          func(context.Context, request.Sync) (report.Sync, error)
}

// List has the sources in order of preference. Safe for concurrent use.
type List struct {
	sources []Source
	store   Store
	shown   Shown
	log     zerolog.Logger

	mu    sync.Mutex // guards what follows
	known store.Sources
}

// New returns the list with what an earlier process knew.
func New(all []Source, s Store, shown Shown, log zerolog.Logger) (*List, error) {
	l := &List{sources: all, store: s, shown: shown, log: log}
	var err error
	l.known, err = s.Sources()
	l.mu.Lock()
	defer l.mu.Unlock()
	isOurs := func(name string) bool { return slices.ContainsFunc(all, func(s Source) bool { return s.Name == name }) }
	maps.DeleteFunc(l.known.Failing, func(name string, _ store.SourceFailure) bool { return !isOurs(name) })
	if !isOurs(l.known.InUse) {
		l.known.InUse = ""
	}
	l.showLocked()
	return l, err
}

// Sync takes a sync from the sources in turn, until none of its manifests is left.
func (l *List) Sync(ctx context.Context, req request.Sync) (sum report.Sync, err error) {
	turns := l.turns(req.Demand || req.Force, time.Now())
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
		l.note(source.Name, len(result.Manifests) > len(faults), faults)
		if isLast || len(faults) == 0 || err != nil {
			return add(sum, result), err
		}
		result.Manifests = slices.DeleteFunc(result.Manifests, func(m report.ManifestResult) bool { return faults[m.Name] != nil })
		sum, req.Manifests = add(sum, result), slices.Sorted(maps.Keys(faults))
	}
	return sum, err
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
	awake := slices.DeleteFunc(slices.Clone(l.sources), rests)
	if all || len(awake) == 0 {
		return slices.Clone(l.sources)
	}
	return awake
}

// A source that failed rests for so long, twice as long after each further failure.
const firstRest, longestRest = 10 * time.Second, 5 * time.Minute

// note notes the outcome of a sync from a source.
func (l *List) note(name string, isUsed bool, faults map[string]error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now().UTC()
	failing := maps.Clone(l.known.Failing)
	if failing == nil {
		failing = map[string]store.SourceFailure{}
	}
	delete(failing, name)
	if len(faults) > 0 {
		first := faults[slices.Min(slices.Collect(maps.Keys(faults)))]
		was := l.known.Failing[name]
		count := was.Count + 1
		failing[name] = store.SourceFailure{
			Since: laterOf(was.Since, now), Count: count, NextTry: now.Add(min(firstRest<<min(count-1, 10), longestRest)),
			Reason: cmp.Or(string(refusal.ReasonOf(first)), string(report.Failed)), Error: report.OneLine(first.Error()),
		}
		if was.Count == 0 {
			l.log.Warn().Str("source", name).Str("reason", failing[name].Reason).Str("error", failing[name].Error).Msg("a source cannot be used")
		}
	}
	known := store.Sources{InUse: l.known.InUse, Since: l.known.Since, Failing: failing}
	if isUsed && known.InUse != name {
		if known.InUse != "" {
			l.log.Info().Str("source", name).Str("before", known.InUse).Msg("another source is in use")
		}
		known.InUse, known.Since = name, now
	}
	isNews := known.InUse != l.known.InUse || len(faults) > 0 || len(failing) != len(l.known.Failing)
	l.known = known
	l.showLocked()
	if !isNews {
		return
	}
	if err := l.store.SetSources(known); err != nil {
		l.log.Warn().Err(err).Msg("saving which source is in use failed; syncd status may show an older one")
	}
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
	for _, s := range l.sources {
		names = append(names, s.Name)
	}
	failing := map[string]time.Time{}
	for name, f := range l.known.Failing {
		failing[name] = f.Since
	}
	l.shown.SourcesAre(names, l.known.InUse, failing)
}
