package web

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

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
	Waiting []string

	Destroyed []report.Destroyed
}

func cardOfFleet(view *report.FleetOverview, now time.Time) *fleetCard {
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
	overdue := false
	for _, w := range view.Waiting {
		c.Waiting, overdue = append(c.Waiting, w.Text(now)), overdue || w.Overdue
	}
	switch {
	case len(view.Stopped) > 0:
		c.Badge, c.Open = badge{"stopped", bad}, true
	case overdue:
		c.Badge, c.Open = badge{"waiting", warn}, true
	case view.States[report.FollowerRefused]+view.States[report.FollowerFailed]+view.States[report.FollowerStopped] > 0:
		c.Badge, c.Open = badge{"failing", warn}, true
	default:
		c.Badge.Level = good
	}
	return c
}

// hostsPage is the page of the hosts that follow this one: numbers first, then the hosts that
// fit the query, some at a time.
type hostsPage struct {
	report.FleetPage
	Query  request.Fleet
	States []report.FollowerState
	Total  int    // hosts that fit
	Next   string // address of the next page; "" on the last one
	First  string // address of the first page; "" on it
	Now    time.Time
}

// Link is the address of the hosts that one of the counts counts.
func (p hostsPage) Link(c report.FleetCount) string {
	query := p.Query
	query.Ring, query.State = c.Ring, string(c.State)
	if c.Release != "none" && c.Release != "other" {
		query.Release = c.Release
	}
	return addressOf(query, nil)
}

func addressOf(query request.Fleet, after *request.Follower) string {
	values := url.Values{}
	for key, value := range map[string]string{"ring": query.Ring, "state": query.State, "release": query.Release} {
		if value != "" {
			values.Set(key, value)
		}
	}
	if after != nil {
		values.Set("after", after.Text())
	}
	return "/fleet?" + values.Encode()
}

// hosts serves the page of the followers. Its size does not depend on how many there are.
func (p *pages) hosts(w http.ResponseWriter, r *http.Request) {
	query, err := queryOf(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if _, err := p.source.Fleet(request.Fleet{Limit: 1, After: &request.Follower{}}); err != nil { // counts nothing
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	p.renderer.serve(w, r, "text/html; charset=utf-8", func() ([]byte, error) {
		view, err := p.gatherHosts(query)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = p.template.ExecuteTemplate(&b, "fleet.html", view)
		return b.Bytes(), err
	})
}

func (p *pages) gatherHosts(query request.Fleet) (view hostsPage, err error) {
	after := query.After
	query.After, query.Limit = nil, maxFollowers
	view = hostsPage{Query: query, States: report.FollowerStates(), Now: p.now()}
	if view.FleetPage, err = p.source.Fleet(query); err != nil {
		return view, err
	}
	if after != nil {
		query.After, view.First = after, addressOf(query, nil)
		later, err := p.source.Fleet(query)
		if err != nil {
			return view, err
		}
		view.Followers, view.FleetPage.Next = later.Followers, later.Next
	}
	for _, c := range view.Counts {
		view.Total += c.Hosts
	}
	if view.FleetPage.Next != nil {
		view.Next = addressOf(query, view.FleetPage.Next)
	}
	return view, nil
}

// maxPage is the most hosts of one answer of the API.
const maxPage = 1000

// queryOf reads which followers somebody asks for.
func queryOf(query url.Values) (fits request.Fleet, err error) {
	fits = request.Fleet{Ring: query.Get("ring"), State: query.Get("state"), Release: query.Get("release")}
	if text := query.Get("limit"); text != "" {
		fits.Limit, err = strconv.Atoi(text)
		if err != nil || fits.Limit < 1 || fits.Limit > maxPage {
			return fits, fmt.Errorf("limit is not a number from 1 to %d", maxPage)
		}
	}
	fits.After, err = request.ParseFollower(query.Get("after"))
	return fits, err
}

// onePage answers with one page of the followers, and with where the next one begins.
func onePage(w http.ResponseWriter, source Source, query request.Fleet) {
	page, err := source.Fleet(query)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	of := struct {
		report.FleetStatus
		Next *string `json:"next"` // for the parameter after; null on the last page
	}{FleetStatus: page.FleetStatus}
	if page.Next != nil {
		next := page.Next.Text()
		of.Next = &next
	}
	answer(w, of, nil)
}

// maxFleets is how many fleets are on their way to clients at once. Each holds a page, which
// takes up to 6 MiB.
const maxFleets = 8

// fleet answers with the followers that the query asks for: with a limit one page of them,
// without one all, page by page. Polls of followers wait while a page is gathered.
func fleet(w http.ResponseWriter, r *http.Request, source Source, views renderer) {
	query, err := queryOf(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !views.fleets.TryAcquire(1) {
		refuse(w)
		return
	}
	defer views.fleets.Release(1)
	if query.Limit > 0 {
		_ = views.inTurn(r.Context(), func() error { // an error means that the client is gone
			onePage(w, source, query)
			return nil
		})
		return
	}
	pages := report.FleetPages(func(after *request.Follower) (page report.FleetPage, err error) {
		err = views.inTurn(r.Context(), func() (err error) {
			next := query
			if after != nil {
				next.After = after
			}
			page, err = source.Fleet(next)
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
