package autocomplete

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/service"
)

// address answers GET /GlobalExpressAddress.
func (w completer) address(c *service.Call) {
	if !c.Require("address1") {
		return
	}
	found := w.search(c, c.Value("address1")+" "+c.Value("address2"))
	found = slices.DeleteFunc(found, func(f gazetteer.Found) bool { return !isWithin(c, f.Address) })
	replyAddresses(c, found)
}

// freeForm answers GET /GlobalExpressFreeForm.
func (w completer) freeForm(c *service.Call) {
	if !c.Require("ff") {
		return
	}
	found, warnings := sortFound(c, w.search(c, c.Value("ff")))
	replyAddresses(c, found, warnings...)
}

// search finds the addresses that a partial text may become.
func (w completer) search(c *service.Call, text string) []gazetteer.Found {
	if !isDomestic(c) {
		return nil
	}
	withoutBoxes := c.Options("opt")["poboxes"] == "false"
	var found []gazetteer.Found
	for _, a := range w.world.Search(text) {
		if !a.POBox || !withoutBoxes {
			found = append(found, gazetteer.Found{Address: a})
		}
	}
	return found
}

// isWithin returns whether an address has the city, state and postal code that the
// caller gave.
func isWithin(c *service.Call, a *gazetteer.Address) bool {
	fits := func(name string, own ...string) bool {
		given := c.Value(name)
		return given == "" || slices.ContainsFunc(own, func(s string) bool { return strings.EqualFold(s, given) })
	}
	return fits("locality", a.City) && fits("administrativearea", a.State, stateNames[a.State]) &&
		fits("postalcode", a.ZIP, a.ZIPPlus4(), a.ZIP+a.Plus4)
}

var stateNames = map[string]string{"KS": "Kansas", "MO": "Missouri"}

// sortFound applies the filter of a free-form search, docs/wire/autocomplete.md,
// "Filters". A list of postal codes puts their addresses first. A point adds
// distances, and with sorttype=distance the order by them.
func sortFound(c *service.Call, found []gazetteer.Found) (sorted []gazetteer.Found, warnings []string) {
	byDistance := strings.EqualFold(c.Value("sorttype"), "distance")
	switch strings.ToLower(c.Value("filterterm")) {
	case "zip":
		preferZIPs(found, strings.Split(c.Value("filterlist"), ","))
		if byDistance {
			warnings = append(warnings, "GW15")
		}
	case "latlong":
		lat, lon, ok := parsePoint(c.Value("filterlist"))
		if !ok {
			return found, []string{"GW12"}
		}
		for i, f := range found {
			found[i].Miles = gazetteer.Miles(lat, lon, f.Latitude, f.Longitude)
		}
		if byDistance {
			slices.SortStableFunc(found, func(a, b gazetteer.Found) int { return cmp.Compare(a.Miles, b.Miles) })
		}
	}
	return found, warnings
}

func preferZIPs(found []gazetteer.Found, zips []string) {
	rank := func(f gazetteer.Found) int {
		if slices.ContainsFunc(zips, func(zip string) bool { return strings.TrimSpace(zip) == f.ZIP }) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(found, func(a, b gazetteer.Found) int { return rank(a) - rank(b) })
}

// parsePoint reads "lat,long".
func parsePoint(text string) (lat, lon float64, ok bool) {
	first, second, _ := strings.Cut(text, ",")
	lat, err1 := strconv.ParseFloat(strings.TrimSpace(first), 64)
	lon, err2 := strconv.ParseFloat(strings.TrimSpace(second), 64)
	return lat, lon, err1 == nil && err2 == nil && !math.IsNaN(lat) && !math.IsNaN(lon)
}
