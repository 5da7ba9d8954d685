package property

import (
	"fmt"
	"strconv"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/service"
	"syncd/internal/emulator/wire"
)

// maxRecords bounds a request to LookupProperty.
const maxRecords = 100

// lookupProperty answers each record with the parcel that it names.
func (l lookups) lookupProperty(c *service.Call) {
	records := c.Records()
	switch {
	case len(records) == 0:
		c.Refuse("GE02")
		return
	case len(records) > maxRecords:
		c.Refuse("GE03")
		return
	}
	for i, r := range records {
		if !checkRecord(c, i, r) {
			return
		}
	}
	rows := make([]wire.Fields, len(records))
	for i, r := range records {
		rows[i] = l.row(c, r)
	}
	c.Reply(wire.Fields{{"TotalRecords", len(rows)}, {"Records", wire.List{Item: "Record", Rows: rows}}})
}

// checkRecord returns whether a record names a property. It answers 400 when it
// does not.
func checkRecord(c *service.Call, i int, r service.Record) bool {
	var faulty service.FaultyInput
	if key := r.Value("AddressKey"); key != "" && !isNumber(key, 11) {
		faulty = service.FaultyInput{Name: "AddressKey", Text: "The AddressKey field must be 11 digits."}
	} else if name := missingInput(r); name != "" {
		faulty = c.Required(name)
	} else {
		return true
	}
	if !c.IsQuery() {
		faulty.Name = fmt.Sprintf("Records[%d].%s", i, faulty.Name)
	}
	c.Invalid(faulty)
	return false
}

// missingInput returns the input that a record lacks to name a property, "" for
// none.
func missingInput(r service.Record) string {
	given := func(name string) bool { return r.Value(name) != "" }
	switch {
	case r.First("AddressKey", "MAK", "FreeForm") != "",
		given("FIPS") && (given("APN") || given("Account")),
		given("AddressLine1") && (given("PostalCode") || given("City") && given("State")):
		return ""
	case given("FIPS"):
		return "APN"
	case given("APN"), given("Account"):
		return "FIPS"
	case given("AddressLine1"):
		return "PostalCode"
	}
	return "AddressLine1"
}

// isNumber returns whether a text consists of the given number of digits.
func isNumber(text string, digits int) bool {
	_, err := strconv.ParseUint(text, 10, 64)
	return err == nil && len(text) == digits
}

// row returns a record of the answer, with empty objects when nothing was found.
// A query has no RecordID, so its answer has none either.
func (l lookups) row(c *service.Call, r service.Record) wire.Fields {
	var row wire.Fields
	if !c.IsQuery() {
		row = wire.Fields{{"RecordID", r.Value("RecordID")}}
	}
	a := l.find(r)
	if a == nil {
		row = append(row, wire.Field{Key: "Results", Value: ""})
		for _, g := range propertyGroups {
			row = append(row, wire.Field{Key: g.name, Value: wire.Fields{}})
		}
		return row
	}
	opt := c.Options("Options")
	v := view{
		prefix: l.prefix, address: a, parcel: a.Parcel,
		described: opt["desc"] == "on", latestMortgage: opt["latestmortgage"] == "on",
	}
	row = append(row, wire.Field{Key: "Results", Value: foundCodes})
	return append(row, v.groups(c.Value("Columns"))...)
}

// find returns the address of the parcel that a record names, nil for none.
func (l lookups) find(r service.Record) *gazetteer.Address {
	var a *gazetteer.Address
	switch fips := r.Value("FIPS"); {
	case r.Value("AddressKey") != "":
		a = l.world.ByAddressKey(r.Value("AddressKey"))
	case r.Value("MAK") != "":
		a = l.world.ByMAK(r.Value("MAK"))
	case fips != "" && r.Value("APN") != "":
		a = l.world.ByParcel(fips, r.Value("APN"))
	case fips != "" && r.Value("Account") != "":
		a = l.world.ByAccount(fips, r.Value("Account"))
	case r.Value("FreeForm") != "":
		a = l.world.MatchFreeForm(r.Value("FreeForm"))
	default:
		a = l.matchLines(r)
	}
	if a == nil || a.Parcel == nil {
		return nil
	}
	return a
}

// matchLines reads the second line as a unit, and ignores it when there is no
// such unit.
func (l lookups) matchLines(r service.Record) *gazetteer.Address {
	city, state, zip := r.Value("City"), r.Value("State"), r.Value("PostalCode")
	first := r.Value("AddressLine1")
	if a := l.world.Match(first+" "+r.Value("AddressLine2"), city, state, zip); a != nil {
		return a
	}
	return l.world.Match(first, city, state, zip)
}

// lookupHomesByOwner answers with all homes of the owner who lives at an address.
func (l lookups) lookupHomesByOwner(c *service.Call) {
	if c.First("OwnerMAK", "FreeForm") == "" {
		c.Missing("OwnerMAK")
		return
	}
	owner := l.byKeyOrText(c.Value("OwnerMAK"), c.Value("FreeForm"))
	if owner == nil {
		c.Reply(nil)
		return
	}
	var rows []wire.Fields
	for _, a := range l.world.HomesOwnedFrom(owner.MAK) {
		rows = append(rows, homeRow(a))
	}
	replyFound(c, len(rows), rows)
}

// byKeyOrText finds an address by its key or, without a key, by its text.
func (l lookups) byKeyOrText(mak, text string) *gazetteer.Address {
	if mak != "" {
		return l.world.ByMAK(mak)
	}
	return l.world.MatchFreeForm(text)
}

// replyFound answers with one page of rows. total counts the rows of all pages.
func replyFound(c *service.Call, total int, rows []wire.Fields) {
	codes := ""
	if total > 0 {
		codes = foundCodes
	}
	c.Reply(wire.Fields{{"Results", codes}, {"TotalRecords", total}, {"Records", wire.List{Item: "Record", Rows: rows}}})
}

func homeRow(a *gazetteer.Address) wire.Fields {
	return wire.Fields{
		{"APN", a.Parcel.APN},
		{"BaseMAK", a.BaseMAK},
		{"FIPS", a.FIPS},
		{"MAK", a.MAK},
		{"PropertyAddress", a.Line},
		{"PropertyCity", a.City},
		{"PropertyPlus4", a.Plus4},
		{"PropertyState", a.State},
		{"PropertyZip", a.ZIP},
	}
}
