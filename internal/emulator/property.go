package emulator

import (
	"fmt"
	"net/http"
	"strconv"

	"syncd/internal/emulator/gazetteer"
)

// maxPropertyRecords bounds a request to LookupProperty.
const maxPropertyRecords = 100

// foundCodes say that the address was matched and has data.
const foundCodes = "YS02,YS04"

// lookupProperty answers each record with what is known of its parcel.
func (e *Emulator) lookupProperty(c *serviceCall) {
	records := c.records()
	switch {
	case len(records) == 0:
		c.refuse("GE02")
		return
	case len(records) > maxPropertyRecords:
		c.refuse("GE03")
		return
	}
	for i, r := range records {
		if !c.checkProperty(i, r) {
			return
		}
	}
	rows := make([]fields, len(records))
	for i, r := range records {
		rows[i] = e.propertyRow(c, r)
	}
	c.reply(fields{{"TotalRecords", len(rows)}, {"Records", list{"Record", rows}}})
}

// checkProperty tells whether a record says which property it asks for, and
// answers 400 when not.
func (c *serviceCall) checkProperty(i int, r record) bool {
	name, text := "", ""
	if key := r.value("AddressKey"); key != "" && !isNumber(key, 11) {
		name, text = "AddressKey", "The AddressKey field must be 11 digits."
	} else if name = missingProperty(r); name != "" {
		text = "The " + c.bareName(name) + " field is required."
	}
	if name == "" {
		return true
	}
	if c.r.Method != http.MethodGet {
		name = fmt.Sprintf("Records[%d].%s", i, name)
	}
	c.invalid(faultyInput{name, text})
	return false
}

// missingProperty returns the input that a record lacks for the least that
// finds a property, "" when it has enough.
func missingProperty(r record) string {
	given := func(name string) bool { return r.value(name) != "" }
	switch {
	case r.first("AddressKey", "MAK", "FreeForm") != "",
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

// isNumber tells whether a text is so many digits.
func isNumber(text string, digits int) bool {
	_, err := strconv.ParseUint(text, 10, 64)
	return err == nil && len(text) == digits
}

// propertyRow is a record of the answer, with empty objects where nothing was
// found. A query has no RecordID, so its answer has none either.
func (e *Emulator) propertyRow(c *serviceCall, r record) fields {
	var row fields
	if c.r.Method != http.MethodGet {
		row = fields{{"RecordID", r.value("RecordID")}}
	}
	a := e.findProperty(r)
	if a == nil {
		row = append(row, field{"Results", ""})
		for _, g := range propertyGroups {
			row = append(row, field{g.name, fields{}})
		}
		return row
	}
	opt := options(c.value("Options"))
	view := propertyView{
		prefix: e.cfg.Prefix, address: a, parcel: a.Parcel,
		described: opt["desc"] == "on", latestMortgage: opt["latestmortgage"] == "on",
	}
	row = append(row, field{"Results", foundCodes})
	return append(row, view.groups(c.value("Columns"))...)
}

// findProperty returns the address of a parcel, or nil.
func (e *Emulator) findProperty(r record) *gazetteer.Address {
	var a *gazetteer.Address
	switch fips := r.value("FIPS"); {
	case r.value("AddressKey") != "":
		a = e.world.ByAddressKey(r.value("AddressKey"))
	case r.value("MAK") != "":
		a = e.world.ByMAK(r.value("MAK"))
	case fips != "" && r.value("APN") != "":
		a = e.world.ByParcel(fips, r.value("APN"))
	case fips != "" && r.value("Account") != "":
		a = e.world.ByAccount(fips, r.value("Account"))
	case r.value("FreeForm") != "":
		a = e.world.MatchFreeForm(r.value("FreeForm"))
	default:
		a = e.matchLines(r)
	}
	if a == nil || a.Parcel == nil {
		return nil
	}
	return a
}

// matchLines takes the second line for a unit first, and then for a remark.
func (e *Emulator) matchLines(r record) *gazetteer.Address {
	city, state, zip := r.value("City"), r.value("State"), r.value("PostalCode")
	first := r.value("AddressLine1")
	if a := e.world.Match(first+" "+r.value("AddressLine2"), city, state, zip); a != nil {
		return a
	}
	return e.world.Match(first, city, state, zip)
}

// lookupHomesByOwner answers with the homes of whoever lives at an address and
// owns it.
func (e *Emulator) lookupHomesByOwner(c *serviceCall) {
	if c.first("OwnerMAK", "FreeForm") == "" {
		c.missing("OwnerMAK")
		return
	}
	owner := e.byKeyOrText(c.value("OwnerMAK"), c.value("FreeForm"))
	if owner == nil {
		c.reply(nil)
		return
	}
	var rows []fields
	for _, a := range e.world.HomesOwnedFrom(owner.MAK) {
		rows = append(rows, homeRow(a))
	}
	c.replyFound(len(rows), rows)
}

// byKeyOrText finds an address by its key or, without one, by its text.
func (e *Emulator) byKeyOrText(mak, text string) *gazetteer.Address {
	if mak != "" {
		return e.world.ByMAK(mak)
	}
	return e.world.MatchFreeForm(text)
}

// replyFound answers with rows of a total, and codes when there are any.
func (c *serviceCall) replyFound(total int, rows []fields) {
	codes := ""
	if total > 0 {
		codes = foundCodes
	}
	c.reply(fields{{"Results", codes}, {"TotalRecords", total}, {"Records", list{"Record", rows}}})
}

func homeRow(a *gazetteer.Address) fields {
	return fields{
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
