package emulator

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"syncd/internal/emulator/gazetteer"
)

// The limits of reverse geocoding; they are the defaults, too. What exceeds one
// is taken for the limit itself.
const (
	maxReverseMiles   = 10
	maxReverseRecords = 100
	maxReverseTargets = 100
)

// foundNear says that there are records.
const foundNear = "GS07"

// origin is where a search starts, and how far and long it goes.
type origin struct {
	lat, lon float64
	miles    float64
	records  int
}

// reverseLookup answers with the nearest addresses.
func (e *Emulator) reverseLookup(c *serviceCall) {
	from, ok := c.origin()
	if !ok {
		return
	}
	var rows []fields
	for _, f := range from.near(e.world, keptBy(c)) {
		rows = append(rows, e.nearRow(f))
	}
	c.replyNear(rows)
}

// origin reads the point of a request and its bounds, and answers 400 when it
// cannot.
func (c *serviceCall) origin() (origin, bool) {
	if !c.require("Latitude", "Longitude") {
		return origin{}, false
	}
	from, ok := c.bounds()
	if !ok {
		return from, false
	}
	from.lat, from.lon, ok = c.point()
	return from, ok
}

func (c *serviceCall) point() (lat, lon float64, ok bool) {
	lat, ok1 := c.number("Latitude", 0)
	lon, ok2 := c.number("Longitude", 0)
	return lat, lon, c.allNumbers(map[string]bool{"Latitude": ok1, "Longitude": ok2})
}

// bounds reads the distance and the number of records.
func (c *serviceCall) bounds() (origin, bool) {
	miles, ok1 := c.number("MaxDistance", maxReverseMiles)
	records, ok2 := c.number("MaxRecords", maxReverseRecords)
	if !c.allNumbers(map[string]bool{"MaxDistance": ok1, "MaxRecords": ok2}) {
		return origin{}, false
	}
	if records < 1 || records > maxReverseRecords {
		records = maxReverseRecords
	}
	return origin{miles: min(max(miles, 0), maxReverseMiles), records: int(records)}, true
}

// number reads an input; an empty one is the usual number.
func (c *serviceCall) number(name string, usual float64) (float64, bool) {
	text := c.value(name)
	if text == "" {
		return usual, true
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// allNumbers answers 400 when an input is no number.
func (c *serviceCall) allNumbers(good map[string]bool) bool {
	var faulty []faultyInput
	for name, ok := range good {
		if !ok {
			faulty = append(faulty, faultyInput{name, "The value '" + c.value(name) + "' is not a number."})
		}
	}
	if len(faulty) > 0 {
		c.invalid(faulty...)
	}
	return len(faulty) == 0
}

// keeps tells which addresses the options of a request leave in.
type keeps struct{ apartments, emptyLots bool }

// keptBy reads the options. In this world nothing but the empty lots is
// undeliverable.
func keptBy(c *serviceCall) keeps {
	opt := options(c.value("Options"))
	return keeps{
		apartments: opt["includeapartments"] == "on",
		emptyLots:  opt["includeemptylots"] == "on" && opt["includeundeliverable"] != "off",
	}
}

func (k keeps) address(a *gazetteer.Address) bool {
	return (k.apartments || a.BaseMAK == "") && (k.emptyLots || !a.EmptyLot)
}

// near returns the addresses within the bounds, the nearest first.
func (o origin) near(w *gazetteer.World, k keeps) []gazetteer.Found {
	all := w.Nearest(o.lat, o.lon, o.miles)
	kept := slices.DeleteFunc(all, func(f gazetteer.Found) bool { return !k.address(f.Address) })
	return kept[:min(len(kept), o.records)]
}

// nearRow is a record of doLookup.
func (e *Emulator) nearRow(f gazetteer.Found) fields {
	return fields{
		{"AddressLine1", f.BaseLine()},
		{"SuiteName", f.Suite()},
		{"SuiteCount", strconv.Itoa(len(e.world.Units(f.MAK)))},
		{"City", f.City},
		{"State", f.State},
		{"PostalCode", f.ZIP},
		{"AddressKey", f.AddressKey},
		{"Latitude", degrees(f.Latitude)},
		{"Longitude", degrees(f.Longitude)},
		{"Distance", degrees(f.Miles)}, // six decimals as well
		{e.cfg.Prefix + "AddressKey", f.MAK},
		{e.cfg.Prefix + "AddressKeyBase", cmp.Or(f.BaseMAK, "0")},
	}
}

func (c *serviceCall) replyNear(rows []fields) {
	results := ""
	if len(rows) > 0 {
		results = foundNear
	}
	records, _ := c.op.response.members.get("Records").(list)
	records.rows = rows
	c.reply(fields{{"Results", results}, {"TotalRecords", len(rows)}, {"Records", records}})
}

// reversePostalCodes answers with the nearest postal codes, each where its
// nearest address is.
func (e *Emulator) reversePostalCodes(c *serviceCall) {
	from, ok := c.origin()
	if !ok {
		return
	}
	level := options(c.value("Options"))["level"]
	seen := make(map[[2]string]bool)
	var rows []fields
	for _, f := range e.world.Nearest(from.lat, from.lon, from.miles) {
		code, route := postalCode(f.Address, level)
		if seen[[2]string{code, route}] || len(rows) == from.records {
			continue
		}
		seen[[2]string{code, route}] = true
		rows = append(rows, postalRow(f, code, route))
	}
	c.replyNear(rows)
}

// postalCode returns the code of an address at a level, and its route where the
// level has one.
func postalCode(a *gazetteer.Address, level string) (code, route string) {
	switch level {
	case "carrierroute":
		return a.ZIP, a.CarrierRoute
	case "plus4":
		return a.ZIPPlus4(), a.CarrierRoute
	}
	return a.ZIP, ""
}

func postalRow(f gazetteer.Found, code, route string) fields {
	row := fields{{"City", f.City}, {"State", f.State}, {"PostalCode", code}}
	if route != "" {
		row = append(row, field{"CarrierRoute", route})
	}
	return append(row, fields{
		{"Latitude", degrees(f.Latitude)}, {"Longitude", degrees(f.Longitude)}, {"Distance", degrees(f.Miles)},
	}...)
}

// reverseFromList answers with those of the caller's targets that are nearest
// to the origin.
func (e *Emulator) reverseFromList(c *serviceCall) {
	from, known, ok := e.listOrigin(c)
	if !ok || !e.checkTargets(c) {
		return
	}
	if !known {
		c.reply(nil)
		return
	}
	targets := e.targets(c, from)
	var rows []fields
	for _, t := range targets[:min(len(targets), from.records)] {
		rows = append(rows, append(e.nearRow(t.Found), field{"RecordID", t.id}))
	}
	c.replyNear(rows)
}

// listOrigin reads the origin, which may be an address of the world; known
// tells whether the world has it.
func (e *Emulator) listOrigin(c *serviceCall) (from origin, known, ok bool) {
	key := c.value(e.cfg.Prefix + "AddressKey")
	if key == "" || c.first("Latitude", "Longitude") != "" {
		from, ok = c.origin()
		return from, true, ok
	}
	if from, ok = c.bounds(); !ok {
		return from, false, false
	}
	a := e.world.ByMAK(key)
	if a == nil {
		return from, false, true
	}
	from.lat, from.lon = a.Latitude, a.Longitude
	return from, true, true
}

// checkTargets tells whether the targets are complete, and answers when not.
func (e *Emulator) checkTargets(c *serviceCall) bool {
	switch n := len(c.records()); {
	case n == 0:
		c.refuse("GE02")
		return false
	case n > maxReverseTargets:
		c.refuse("GE03")
		return false
	}
	var faulty []faultyInput
	for i, r := range c.records() {
		for _, name := range []string{e.cfg.Prefix + "AddressKey", "RecordID"} {
			if r.value(name) == "" {
				faulty = append(faulty, faultyInput{fmt.Sprintf("Records[%d].%s", i, name), "The " + name + " field is required."})
			}
		}
	}
	if len(faulty) > 0 {
		c.invalid(faulty...)
	}
	return len(faulty) == 0
}

// target is an address that the caller compares, with the caller's own id.
type target struct {
	gazetteer.Found
	id string
}

// targets returns those within the bounds, the nearest first. A key that the
// world does not have is left out.
func (e *Emulator) targets(c *serviceCall, from origin) []target {
	kept := keptBy(c)
	var near []target
	for _, r := range c.records() {
		a := e.world.ByMAK(r.value(e.cfg.Prefix + "AddressKey"))
		if a == nil || !kept.address(a) {
			continue
		}
		miles := gazetteer.Miles(from.lat, from.lon, a.Latitude, a.Longitude)
		if miles <= from.miles {
			near = append(near, target{gazetteer.Found{Address: a, Miles: miles}, r.value("RecordID")})
		}
	}
	slices.SortStableFunc(near, func(a, b target) int { return cmp.Compare(a.Miles, b.Miles) })
	return near
}
