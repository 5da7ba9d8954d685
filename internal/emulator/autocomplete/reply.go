package autocomplete

import (
	"slices"
	"strconv"
	"strings"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/service"
	"syncd/internal/emulator/wire"
)

// The default and the limit of maxrecords.
const (
	defaultRecords = 10
	limitRecords   = 100
)

// replyPlaces answers with the places of the addresses that fit, each place once.
func (w completer) replyPlaces(c *service.Call, place func(*gazetteer.Address) wire.Fields, fits func(*gazetteer.Address) bool) {
	seen := make(map[string]bool)
	var rows []wire.Fields
	for _, a := range w.world.Addresses() {
		if !isDomestic(c) || !fits(a) {
			continue
		}
		row := place(a)
		if key := row.Get("Address").(string); !seen[key] {
			seen[key] = true
			rows = append(rows, row)
		}
	}
	replyRows(c, rows)
}

// replyAddresses answers with complete addresses.
func replyAddresses(c *service.Call, found []gazetteer.Found, warnings ...string) {
	extra, unknown := extras(c.Value("cols"))
	warnings = append(append(warnings, unknown...), optionWarnings(c)...)
	var rows []wire.Fields
	for _, group := range groups(found, !strings.EqualFold(c.Value("suitecompression"), "false")) {
		row := completed(group)
		if extra != nil {
			row = append(row, wire.Field{Key: "Extras", Value: extra})
		}
		rows = append(rows, row)
	}
	replyRows(c, rows, warnings...)
}

// optionWarnings returns a warning for each option that is not known or has a
// wrong value.
func optionWarnings(c *service.Call) (warnings []string) {
	for name, value := range c.Options("opt") {
		switch {
		case name != "poboxes":
			warnings = append(warnings, "GW11")
		case value != "true" && value != "false":
			warnings = append(warnings, "GW12")
		}
	}
	return warnings
}

// replyRows answers with up to maxrecords rows.
func replyRows(c *service.Call, rows []wire.Fields, warnings ...string) {
	limit, ok := maxRecords(c)
	if !ok {
		c.Invalid(service.NotValid("maxrecords", c.Value("maxrecords")))
		return
	}
	code := "XS01"
	switch {
	case len(rows) == 0:
		code = "XS03"
	case len(rows) > limit:
		code, rows = "XS02", rows[:limit]
	}
	results := wire.List{Item: "ResultGlobal"}
	for _, row := range rows {
		results.Rows = append(results.Rows, wire.Fields{{"Address", row}})
	}
	slices.Sort(warnings)
	codes := strings.Join(append([]string{code}, slices.Compact(warnings)...), ",")
	c.Reply(wire.Fields{{"ResultCode", codes}, {"Results", results}})
}

func maxRecords(c *service.Call) (int, bool) {
	text := c.Value("maxrecords")
	if text == "" {
		return defaultRecords, true
	}
	n, err := strconv.Atoi(text)
	return min(n, limitRecords), err == nil && n > 0
}
