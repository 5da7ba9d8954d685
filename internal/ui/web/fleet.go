package web

import (
	"fmt"
	"net/http"
	"strings"

	"syncd/internal/report"
	"syncd/internal/report/request"
)

// maxFollowers is how many followers the page shows.
const maxFollowers = 100

// fleetCard shows the followers, those in the worst state first.
type fleetCard struct {
	Badge   badge // no word while all is well
	Open    bool
	Summary string // how many there are, by state
	Shown   []report.FollowerStatus
	More    int
	Stopped []report.Stop

	Destroyed []report.Destroyed
}

func cardOfFleet(view *report.FleetOverview) *fleetCard {
	if view == nil {
		return nil
	}
	c := &fleetCard{Stopped: view.Stopped, Destroyed: view.Destroyed, Shown: view.Worst, More: -len(view.Worst)}
	var parts []string
	for _, state := range report.FollowerStates() {
		if hosts := view.States[state]; hosts > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", hosts, words(state)))
			c.More += hosts
		}
	}
	c.Summary = strings.Join(parts, ", ")
	switch {
	case len(view.Stopped) > 0:
		c.Badge, c.Open = badge{"stopped", bad}, true
	case view.States[report.FollowerRefused]+view.States[report.FollowerFailed]+view.States[report.FollowerStopped] > 0:
		c.Badge, c.Open = badge{"failing", warn}, true
	default:
		c.Badge.Level = good
	}
	return c
}

// maxFleets is how many fleets are on their way to clients at once. Each holds a page, which
// takes up to 6 MiB.
const maxFleets = 8

// fleet answers with the followers that the query asks for, page by page. Polls of followers
// wait while a page is gathered.
func fleet(w http.ResponseWriter, r *http.Request, source Source, views renderer) {
	if !views.fleets.TryAcquire(1) {
		refuse(w)
		return
	}
	defer views.fleets.Release(1)
	query := r.URL.Query()
	pages := report.FleetPages(func(after *request.Follower) (page report.FleetPage, err error) {
		err = views.inTurn(r.Context(), func() (err error) {
			page, err = source.Fleet(request.Fleet{Ring: query.Get("ring"), State: query.Get("state"), Release: query.Get("release"), After: after})
			return err
		})
		return page, err
	})
	if _, err := pages(nil); err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = pages.WriteJSON(w) // an error means that the client is gone
}
