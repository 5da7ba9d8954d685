package reversegeo

import (
	"cmp"
	"slices"
	"strconv"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/service"
	"syncd/internal/emulator/wire"
)

// foundCode says that the answer holds records.
const foundCode = "GS07"

// doLookup answers with the nearest addresses.
func (l lookups) doLookup(c *service.Call) {
	from, ok := readOrigin(c)
	if !ok {
		return
	}
	var rows []wire.Fields
	for _, f := range l.near(from, readInclude(c)) {
		rows = append(rows, l.addressRow(f))
	}
	replyNear(c, rows)
}

// near returns the addresses within the bounds, the nearest first.
func (l lookups) near(from origin, in include) []gazetteer.Found {
	all := l.world.Nearest(from.lat, from.lon, from.miles)
	kept := slices.DeleteFunc(all, func(f gazetteer.Found) bool { return !in.address(f.Address) })
	return kept[:min(len(kept), from.records)]
}

// addressRow returns a record of doLookup.
func (l lookups) addressRow(f gazetteer.Found) wire.Fields {
	return wire.Fields{
		{"AddressLine1", f.BaseLine()},
		{"SuiteName", f.Suite()},
		{"SuiteCount", strconv.Itoa(len(l.world.Units(f.MAK)))},
		{"City", f.City},
		{"State", f.State},
		{"PostalCode", f.ZIP},
		{"AddressKey", f.AddressKey},
		{"Latitude", wire.Decimal(f.Latitude)},
		{"Longitude", wire.Decimal(f.Longitude)},
		{"Distance", wire.Decimal(f.Miles)},
		{l.addressKey, f.MAK},
		{l.addressKey + "Base", cmp.Or(f.BaseMAK, "0")},
	}
}

func replyNear(c *service.Call, rows []wire.Fields) {
	results := ""
	if len(rows) > 0 {
		results = foundCode
	}
	records, _ := c.Operation.Response.Members.Get("Records").(wire.List)
	records.Rows = rows
	c.Reply(wire.Fields{{"Results", results}, {"TotalRecords", len(rows)}, {"Records", records}})
}

// doLookupPostalCodes answers with the nearest postal codes. The place of a code
// is that of its nearest address.
func (l lookups) doLookupPostalCodes(c *service.Call) {
	from, ok := readOrigin(c)
	if !ok {
		return
	}
	level := c.Options("Options")["level"]
	seen := make(map[[2]string]bool)
	var rows []wire.Fields
	for _, f := range l.world.Nearest(from.lat, from.lon, from.miles) {
		code, route := postalCode(f.Address, level)
		if seen[[2]string{code, route}] || len(rows) == from.records {
			continue
		}
		seen[[2]string{code, route}] = true
		rows = append(rows, postalRow(f, code, route))
	}
	replyNear(c, rows)
}

// postalCode returns the code of an address at a level, with the carrier route for
// the levels that have one.
func postalCode(a *gazetteer.Address, level string) (code, route string) {
	switch level {
	case "carrierroute":
		return a.ZIP, a.CarrierRoute
	case "plus4":
		return a.ZIPPlus4(), a.CarrierRoute
	}
	return a.ZIP, ""
}

func postalRow(f gazetteer.Found, code, route string) wire.Fields {
	row := wire.Fields{{"City", f.City}, {"State", f.State}, {"PostalCode", code}}
	if route != "" {
		row = append(row, wire.Field{Key: "CarrierRoute", Value: route})
	}
	return append(row, wire.Fields{
		{"Latitude", wire.Decimal(f.Latitude)}, {"Longitude", wire.Decimal(f.Longitude)}, {"Distance", wire.Decimal(f.Miles)},
	}...)
}
