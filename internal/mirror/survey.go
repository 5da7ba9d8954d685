package mirror

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// survey is what pruning finds on disk.
type survey struct {
	all     []Generation // the current generation and those before it, the newest first
	useless []int        // numbers of unfinished and of damaged generations
	future  []int        // indexes in all of generations with a time in the future
}

// survey reads the generations. If one cannot be read it returns an error, so that
// nothing is pruned: that generation may be whole. It changes nothing on disk.
func (gs *Generations) survey(now time.Time) (found survey, err error) {
	current := gs.Current().Number
	numbers, err := gs.numbers()
	if err != nil {
		return found, err
	}
	for _, n := range slices.Backward(numbers) {
		g, err := gs.read(n)
		switch {
		case n > current || n < current && errors.Is(err, errDamaged):
			found.useless = append(found.useless, n)
		case err != nil:
			return found, fmt.Errorf("generation %d cannot be read, so nothing is pruned: %w", n, err)
		default:
			found.all = append(found.all, g)
		}
	}
	if current > 0 && (len(found.all) == 0 || found.all[0].Number != current) {
		return found, fmt.Errorf("generation %d, the current one, is missing, so nothing is pruned", current)
	}
	found.mendTimes(now)
	return found, nil
}

// clockSlack is the greatest distance of a time in the future that is no sign of a
// wrong clock: file systems and NTP are off by less.
const clockSlack = time.Minute

// mendTimes replaces times in the future by the present: the clock was ahead and has
// been corrected. Otherwise pruning would wait until the clock reaches those times.
func (s *survey) mendTimes(now time.Time) {
	for i, g := range s.all {
		if g.PublishedAt.After(now.Add(clockSlack)) {
			s.all[i].PublishedAt = now
			s.future = append(s.future, i)
		}
	}
}

// saveTimes writes mended times to disk, so that the next process counts on from
// them.
func (gs *Generations) saveTimes(found survey, now time.Time) {
	for _, i := range found.future {
		gs.saveTime(found.all[i].Number, now)
		if i+1 < len(found.all) {
			gs.noteLeft(found.all[i+1].Number, now)
		}
	}
}

// saveTime writes to disk when a generation came into service, for later processes.
// When that fails, its directory keeps the time at which it was built.
func (gs *Generations) saveTime(number int, at time.Time) {
	_ = gs.root.Chtimes(generationDir(number), at)
}

// noteLeft notes when a generation left `current`, unless that is known.
func (gs *Generations) noteLeft(number int, at time.Time) {
	if _, known := gs.left[number]; !known {
		gs.left[number] = at
	}
}

// leftAt is when all[i], the newest first, left `current`. A time that this process
// has noted is right even if the clock was set later.
func (gs *Generations) leftAt(all []Generation, i int) time.Time {
	if at, known := gs.left[all[i].Number]; known {
		return at
	}
	return all[i-1].PublishedAt
}

// verdict says whether a generation stays.
type verdict struct {
	stays bool
	until time.Time // zero unless it stays only because it left `current` recently
}

// decide chooses which of all, newest first, stay: the current one, those that
// left `current` too recently, and one for each set of retained revisions.
func (gs *Generations) decide(all []Generation, retained map[string]Record, recent time.Duration, now time.Time) []verdict {
	verdicts := make([]verdict, len(all))
	seen := map[string]bool{}
	for i, g := range all {
		shown := g.revisions()
		lasting := i == 0 || !seen[shown] && isRetained(g, retained) // the current generation is first
		seen[shown] = seen[shown] || lasting
		if lasting {
			verdicts[i].stays = true
			continue
		}
		if until := gs.leftAt(all, i).Add(recent); now.Before(until) {
			verdicts[i] = verdict{stays: true, until: until}
		}
	}
	return verdicts
}

func isRetained(g Generation, retained map[string]Record) bool {
	for _, record := range g.Records {
		if _, ok := retained[record.Key()]; !ok {
			return false
		}
	}
	return true
}
