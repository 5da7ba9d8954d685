package web

import (
	"fmt"
	"slices"
	"strings"

	"syncd/internal/downstream/rings"
)

// maxFollowers is how many followers the page shows.
const maxFollowers = 100

// fleetCard shows the followers, those in the worst state first.
type fleetCard struct {
	Summary string // how many there are, by state
	Shown   []rings.FollowerView
	More    int
	Stopped []rings.Stop
}

func cardOfFleet(view *rings.View) *fleetCard {
	if view == nil {
		return nil
	}
	all := slices.Clone(view.Followers)
	slices.SortStableFunc(all, func(a, b rings.FollowerView) int { return rings.Compare(a.State, b.State) })
	c := &fleetCard{Stopped: view.Stopped, Shown: all[:min(len(all), maxFollowers)]}
	c.More = len(all) - len(c.Shown)
	counts := map[rings.Condition]int{}
	for _, f := range all {
		counts[f.State]++
	}
	var parts []string
	for _, state := range rings.Conditions() {
		if counts[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[state], words(state)))
		}
	}
	c.Summary = strings.Join(parts, ", ")
	return c
}
