package web

import (
	"fmt"
	"slices"
	"strings"

	"syncd/internal/report"
)

// maxFollowers is how many followers the page shows.
const maxFollowers = 100

// fleetCard shows the followers, those in the worst state first.
type fleetCard struct {
	Summary string // how many there are, by state
	Shown   []report.FollowerStatus
	More    int
	Stopped []report.Stop
}

func cardOfFleet(view *report.FleetStatus) *fleetCard {
	if view == nil {
		return nil
	}
	all := slices.Clone(view.Followers)
	slices.SortStableFunc(all, func(a, b report.FollowerStatus) int { return a.State.Compare(b.State) })
	c := &fleetCard{Stopped: view.Stopped, Shown: all[:min(len(all), maxFollowers)]}
	c.More = len(all) - len(c.Shown)
	counts := map[report.FollowerState]int{}
	for _, f := range all {
		counts[f.State]++
	}
	var parts []string
	for _, state := range report.FollowerStates() {
		if counts[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[state], words(state)))
		}
	}
	c.Summary = strings.Join(parts, ", ")
	return c
}
