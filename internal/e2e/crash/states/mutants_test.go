package states_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/e2e/crash/states"
)

// harmless are the mutants of which nothing is lost, by the work and their names: how many of
// each name, and why.
var harmless = map[string]map[string]mutants{
	"next release": {
		"without fsync data":                                                   {5, isSynced},
		"without fsync data/state":                                             {3, isSynced},
		"without fsync data/generations":                                       {1, isSynced},
		"without fsync data/revisions":                                         {1, isSynced},
		"without fsync data/state/records":                                     {1, isSynced},
		"without fsync data/state/audit":                                       {2, isMadeAgain},
		"without fsync data/state/audit/trees":                                 {1, isSynced},
		"without fdatasync data/state/syncd.db":                                {4, isMadeAgain},
		"without linkat data/state/.tmp data/state/.tmp":                       {1, isTrial},
		"without symlinkat data/.tmp":                                          {1, isRenamed},
		"without renameat data/state/audit/.tmp data/state/audit/events":       {1, isMadeAgain},
		"late fsync data/generations, after symlinkat data/generations/.tmp/m": {1, isSynced},
		"late fsync data/generations, after symlinkat data/.tmp":               {1, isBeforeSwitch},
		"late fsync data/generations/.tmp, after renameat data/generations/.tmp data/generations/000002":                                {1, isBeforeSwitch},
		"late fsync data/revisions/m/.tmp, after renameat data/revisions/m/.tmp data/revisions/m/2026.11-4de63952cd67":                  {1, isBeforeSwitch},
		"late fsync data/state/records/m/.tmp, after renameat data/state/records/m/.tmp data/state/records/m/2026.11-4de63952cd67.json": {1, isBeforeSwitch},
		"late fsync data/state/audit, after linkat data/generations/000002/m.SHA256SUMS data/state/audit/trees/m/2026.11-4de63952cd67":  {1, isSynced},
	},
	"pin": {
		"without fsync data":                                                   {5, isSynced},
		"without fsync data/state":                                             {1, isSynced},
		"without fsync data/generations":                                       {1, isSynced},
		"without fdatasync data/state/syncd.db":                                {1, isMadeAgain},
		"without symlinkat data/.tmp":                                          {1, isRenamed},
		"late fsync data/generations, after symlinkat data/generations/.tmp/m": {1, isSynced},
		"late fsync data/generations, after symlinkat data/.tmp":               {1, isBeforeSwitch},
		"late fsync data/generations/.tmp, after renameat data/generations/.tmp data/generations/000003": {1, isBeforeSwitch},
	},
}

type mutants struct {
	number int
	why    string
}

// Why a fault loses nothing.
const (
	isSynced       = "nothing in the folder waits to be synced: a sync of a new data_dir or month needs the call"
	isBeforeSwitch = "a later sync covers the change before the switch of current needs it"
	isMadeAgain    = "the next start or sync makes it again from what is on disk"
	isTrial        = "it tries whether the disk has hard links"
	isRenamed      = "the rename gives the same inode its name"
)

var temporary = regexp.MustCompile(`\.tmp-[^/ ]*-[A-Z2-7]{10}|\.tmp-[a-z]+-[A-Z2-7]{10}`)

// TestNoMutantIsMissed leaves out or moves each step of some work: the judge finds that
// something is lost in a state which is possible only then, or the fault is known to be harmless.
// POSIX allows all that the other kinds of file system do.
func TestNoMutantIsMissed(t *testing.T) {
	if os.Getenv(stateVariable) != "" {
		t.Skip("NOT TESTED: one state of another test is asked for")
	}
	t.Run("next release", func(t *testing.T) { updated(t, "").record(t).mutate(t, harmless["next release"]) })
	t.Run("pin", func(t *testing.T) { protocols["pin"](t).record(t).mutate(t, harmless["pin"]) })
}

func (p *protocol) mutate(t *testing.T, harmless map[string]mutants) {
	t.Helper()
	possible := map[key]bool{}
	p.everyImage(states.Posix, 1, possible, func(*states.Image) {})
	all, found, judged := p.trace.Mutants(), 0, 0
	missed := map[string]int{}
	for _, m := range all {
		name := temporary.ReplaceAllString(m.Name, ".tmp")
		findings, n := p.judgeMutant(t, m.Trace, possible)
		judged += n
		if len(findings) == 0 {
			missed[name]++
			continue
		}
		found++
		t.Logf("found in %d states: %s: %v", n, name, findings[0].err)
	}
	for name, n := range missed {
		if n != harmless[name].number {
			t.Errorf("%d mutants lose nothing, want %d: %s", n, harmless[name].number, name)
		}
	}
	for name, h := range harmless {
		if missed[name] == 0 {
			t.Errorf("a mutant is found now, or is no more: %s (%s)", name, h.why)
		}
	}
	t.Logf("%d of %d found, the others are harmless; %d states judged", found, len(all), judged)
}

// judgeMutant judges the images of a mutant that are not possible otherwise, those after its
// last steps first, until one of them lost something.
func (p *protocol) judgeMutant(t *testing.T, trace *states.Trace, possible map[key]bool) ([]finding, int) {
	t.Helper()
	seen := maps.Clone(possible)
	c := p.convene(t, 1)
	look := func(image *states.Image) bool {
		if key := image.Key(); !seen[key] {
			seen[key] = true
			c.images <- image
		}
		return c.ctx.Err() == nil
	}
	limit := e2e.Times(300, 1<<16)
	for point := trace.Points() - 1; point >= 0 && c.ctx.Err() == nil; point-- {
		n := 0
		trace.Each(states.Posix, point, func(image *states.Image) bool {
			n++
			return look(image) && n < limit
		})
		if n == limit {
			trace.Sample(states.Posix, point, n, rand.New(rand.NewPCG(uint64(point), 1)), func(image *states.Image) { look(image) })
		}
	}
	return c.end(), c.judged
}
