package emulator

import (
	"net/http"
	"regexp"
)

// callbackName is what a script may ask to have called.
var callbackName = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$.]*$`)

// writeScript answers the way the address for scripts does: with a callback as
// a call with the bare answer, without one as JSON in which the answer is a
// member d and its objects tell their types. Extras are not shown there.
func writeScript(c *serviceCall, d document) {
	callback := c.value("callback")
	if callback == "" {
		members := typed(d)
		writeBody(c.w, http.StatusOK, formatJSON.contentType(), asJSON(fields{{"d", members}}))
		return
	}
	if !callbackName.MatchString(callback) {
		c.invalid(notValid("callback", callback))
		return
	}
	body := append([]byte(callback+"("), asJSON(plain(d.members))...)
	writeBody(c.w, http.StatusOK, "application/javascript; charset=utf-8", append(body, ");"...))
}

// typed names the type of each object. The answer about countries has none.
func typed(d document) fields {
	results := d.members.get("Results").(list)
	if d.root != "ResponseGlobal" {
		return d.members
	}
	rows := make([]fields, len(results.rows))
	for i, row := range results.rows {
		address := row.get("Address").(fields).without("Extras")
		rows[i] = fields{
			{"__type", "ResultGlobal"},
			{"Address", append(fields{{"__type", "AddressGlobal"}}, address...)},
		}
	}
	members := d.members.with(fields{{"Results", list{rows: rows}}})
	return append(fields{{"__type", d.root}}, members...)
}

func plain(members fields) fields {
	results := members.get("Results").(list)
	rows := make([]fields, len(results.rows))
	for i, row := range results.rows {
		if address, ok := row.get("Address").(fields); ok {
			row = fields{{"Address", address.without("Extras")}}
		}
		rows[i] = row
	}
	return members.with(fields{{"Results", list{rows: rows}}})
}
