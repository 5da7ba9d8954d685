package emulator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"syncd/internal/emulator/gazetteer"
)

// The bounds of maxrecords.
const (
	usualCompletions = 10
	maxCompletions   = 100
)

// completionOperations are the operations of the auto-complete service, the same
// under both of its addresses.
func (e *Emulator) completionOperations() map[string]operation {
	return map[string]operation{
		"GlobalExpressAddress": completion(e.completeAddress,
			"address1", "address2", "locality", "administrativearea", "postalcode",
			"maxrecords", "nativecharset", "diacriticreplace", "cols", "opt", "suitecompression"),
		"GlobalExpressFreeForm": completion(e.completeFreeForm,
			"ff", "maxrecords", "nativecharset", "diacriticreplace", "cols", "opt", "suitecompression",
			"filterterm", "filterlist", "sorttype"),
		"GlobalExpressLocalityAdministrativeArea": completion(e.completeLocality,
			"locality", "administrativearea", "postalcode", "maxrecords", "nativecharset", "diacriticreplace"),
		"GlobalExpressPostalCode":   completion(e.completePostalCode, "postalcode", "maxrecords", "diacriticreplace"),
		"GlobalExpressThoroughfare": completion(e.completeThoroughfare, "postalcode", "thoroughfare", "maxrecords", "diacriticreplace"),
		"GlobalExpressCountry":      countryOperation(),
	}
}

func completion(handle func(*serviceCall), names ...string) operation {
	op := operation{
		methods: onlyGet, inputs: []input{{get: "country"}, {get: "callback"}},
		codes: "ResultCode", text: "ErrorString", unknownID: "GE09", handle: handle,
		response: completionDocument("ResponseGlobal", "ResultGlobal"),
	}
	for _, name := range names {
		op.inputs = append(op.inputs, input{get: name})
	}
	return op
}

func completionDocument(root, item string) document {
	return document{root: root, schema: true, members: fields{
		{"Version", "9.0.0.9001"}, {"ResultCode", ""}, {"ErrorString", ""}, {"Results", list{item: item}},
	}}
}

// The names that addresses of the world are asked for by; "" is the default.
var domestic = []string{"", "us", "usa", "840", "united states", "united states of america"}

func isDomestic(c *serviceCall) bool {
	return slices.Contains(domestic, strings.ToLower(c.value("country")))
}

// GET /GlobalExpressAddress
func (e *Emulator) completeAddress(c *serviceCall) {
	if !c.require("address1") {
		return
	}
	found := e.search(c, c.value("address1")+" "+c.value("address2"))
	found = slices.DeleteFunc(found, func(f gazetteer.Found) bool { return !isWithin(c, f.Address) })
	c.replyAddresses(found)
}

// GET /GlobalExpressFreeForm
func (e *Emulator) completeFreeForm(c *serviceCall) {
	if !c.require("ff") {
		return
	}
	found, warnings := sortCompletions(c, e.search(c, c.value("ff")))
	c.replyAddresses(found, warnings...)
}

// search finds the addresses that a text may become; their distance is zero.
func (e *Emulator) search(c *serviceCall, text string) []gazetteer.Found {
	if !isDomestic(c) {
		return nil
	}
	withoutBoxes := options(c.value("opt"))["poboxes"] == "false"
	var found []gazetteer.Found
	for _, a := range e.world.Search(text) {
		if !a.POBox || !withoutBoxes {
			found = append(found, gazetteer.Found{Address: a})
		}
	}
	return found
}

// isWithin compares an address with those parts of its place that are given.
func isWithin(c *serviceCall, a *gazetteer.Address) bool {
	fits := func(name string, own ...string) bool {
		given := c.value(name)
		return given == "" || slices.ContainsFunc(own, func(s string) bool { return strings.EqualFold(s, given) })
	}
	return fits("locality", a.City) && fits("administrativearea", a.State, stateNames[a.State]) &&
		fits("postalcode", a.ZIP, a.ZIPPlus4(), a.ZIP+a.Plus4)
}

var stateNames = map[string]string{"KS": "Kansas", "MO": "Missouri"}

// sortCompletions heeds the filter of a free-form search: a list of postal codes
// puts what is in them first, a point gives distances and, when asked, the
// order by them.
func sortCompletions(c *serviceCall, found []gazetteer.Found) (sorted []gazetteer.Found, warnings []string) {
	byDistance := strings.EqualFold(c.value("sorttype"), "distance")
	switch strings.ToLower(c.value("filterterm")) {
	case "zip":
		preferZIPs(found, strings.Split(c.value("filterlist"), ","))
		if byDistance {
			warnings = append(warnings, "GW15")
		}
	case "latlong":
		lat, lon, ok := parsePoint(c.value("filterlist"))
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

// GET /GlobalExpressLocalityAdministrativeArea
func (e *Emulator) completeLocality(c *serviceCall) {
	locality := strings.ToLower(c.value("locality"))
	area := strings.ToLower(c.value("administrativearea"))
	e.completePlaces(c, cityPlace, func(a *gazetteer.Address) bool {
		return strings.HasPrefix(strings.ToLower(a.City), locality) && isZIP(a, c.value("postalcode")) &&
			(area == "" || area == strings.ToLower(a.State) || area == strings.ToLower(stateNames[a.State]))
	})
}

// GET /GlobalExpressPostalCode
func (e *Emulator) completePostalCode(c *serviceCall) {
	if !c.require("postalcode") {
		return
	}
	e.completePlaces(c, zipPlace, func(a *gazetteer.Address) bool { return isZIP(a, c.value("postalcode")) })
}

// isZIP takes a ZIP+4 for its ZIP; "" is any.
func isZIP(a *gazetteer.Address, text string) bool {
	zip, _, _ := strings.Cut(strings.TrimSpace(text), "-")
	return zip == "" || zip == a.ZIP
}

// minThoroughfare is how much of a street's name a search needs.
const minThoroughfare = 3

// GET /GlobalExpressThoroughfare
func (e *Emulator) completeThoroughfare(c *serviceCall) {
	begin := strings.ToLower(strings.TrimSpace(c.value("thoroughfare")))
	if begin == "" && c.value("postalcode") == "" {
		c.missing("thoroughfare", "postalcode")
		return
	}
	if begin != "" && len([]rune(begin)) < minThoroughfare {
		c.invalid(faultyInput{"thoroughfare", fmt.Sprintf("The field thoroughfare needs at least %d characters.", minThoroughfare)})
		return
	}
	e.completePlaces(c, streetPlace, func(a *gazetteer.Address) bool {
		begins := func(s string) bool { return strings.HasPrefix(strings.ToLower(s), begin) }
		return !a.POBox && isZIP(a, c.value("postalcode")) && (begins(a.Thoroughfare()) || begins(a.Street))
	})
}

// completePlaces answers with the distinct places of the addresses that fit.
func (e *Emulator) completePlaces(c *serviceCall, place func(*gazetteer.Address) fields, fits func(*gazetteer.Address) bool) {
	seen := make(map[string]bool)
	var rows []fields
	for _, a := range e.world.Addresses() {
		if !isDomestic(c) || !fits(a) {
			continue
		}
		row := place(a)
		if key := row.get("Address").(string); !seen[key] {
			seen[key] = true
			rows = append(rows, row)
		}
	}
	c.replyCompletions(rows)
}

// replyAddresses answers with whole addresses.
func (c *serviceCall) replyAddresses(found []gazetteer.Found, warnings ...string) {
	extra, unknown := extras(c.value("cols"))
	warnings = append(append(warnings, unknown...), wrongOptions(c.value("opt"))...)
	var rows []fields
	for _, group := range groups(found, !strings.EqualFold(c.value("suitecompression"), "false")) {
		row := completed(group)
		if extra != nil {
			row = append(row, field{"Extras", extra})
		}
		rows = append(rows, row)
	}
	c.replyCompletions(rows, warnings...)
}

// wrongOptions are the warnings that an opt brings.
func wrongOptions(opt string) (warnings []string) {
	for name, value := range options(opt) {
		switch {
		case name != "poboxes":
			warnings = append(warnings, "GW11")
		case value != "true" && value != "false":
			warnings = append(warnings, "GW12")
		}
	}
	return warnings
}

// replyCompletions answers with up to maxrecords rows.
func (c *serviceCall) replyCompletions(rows []fields, warnings ...string) {
	limit, ok := c.maxRecords()
	if !ok {
		c.invalid(notValid("maxrecords", c.value("maxrecords")))
		return
	}
	code := "XS01"
	switch {
	case len(rows) == 0:
		code = "XS03"
	case len(rows) > limit:
		code, rows = "XS02", rows[:limit]
	}
	results := list{item: "ResultGlobal"}
	for _, row := range rows {
		results.rows = append(results.rows, fields{{"Address", row}})
	}
	slices.Sort(warnings)
	codes := strings.Join(append([]string{code}, slices.Compact(warnings)...), ",")
	c.reply(fields{{"ResultCode", codes}, {"Results", results}})
}

func (c *serviceCall) maxRecords() (int, bool) {
	text := c.value("maxrecords")
	if text == "" {
		return usualCompletions, true
	}
	n, err := strconv.Atoi(text)
	return min(n, maxCompletions), err == nil && n > 0
}

func notValid(name, value string) faultyInput {
	return faultyInput{name, fmt.Sprintf("The value '%s' is not valid.", value)}
}
