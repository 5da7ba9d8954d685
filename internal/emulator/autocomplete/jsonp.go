package autocomplete

import (
	"regexp"

	"syncd/internal/emulator/service"
	"syncd/internal/emulator/wire"
)

// callbackName is the form of a callback: a name of a JavaScript function.
var callbackName = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$.]*$`)

// writeJSONP answers with a call of the callback. Without a callback the answer is
// JSON: a member d, whose objects name their types. Neither form has Extras. See
// docs/wire/autocomplete.md, "/jsonp".
func writeJSONP(c *service.Call, d wire.Document) {
	callback := c.Value("callback")
	if callback == "" {
		c.Send(wire.JSON.ContentType(), wire.EncodeJSON(wire.Fields{{"d", typed(d)}}))
		return
	}
	if !callbackName.MatchString(callback) {
		c.Invalid(service.NotValid("callback", callback))
		return
	}
	body := append([]byte(callback+"("), wire.EncodeJSON(plain(d.Members))...)
	c.Send("application/javascript; charset=utf-8", append(body, ");"...))
}

// typed adds the type of each object. An answer about countries has no types.
func typed(d wire.Document) wire.Fields {
	results := d.Members.Get("Results").(wire.List)
	if d.Root != "ResponseGlobal" {
		return d.Members
	}
	rows := make([]wire.Fields, len(results.Rows))
	for i, row := range results.Rows {
		address := row.Get("Address").(wire.Fields).Without("Extras")
		rows[i] = wire.Fields{
			{"__type", "ResultGlobal"},
			{"Address", append(wire.Fields{{"__type", "AddressGlobal"}}, address...)},
		}
	}
	members := d.Members.With(wire.Fields{{"Results", wire.List{Rows: rows}}})
	return append(wire.Fields{{"__type", d.Root}}, members...)
}

// plain leaves out the extras of each address.
func plain(members wire.Fields) wire.Fields {
	results := members.Get("Results").(wire.List)
	rows := make([]wire.Fields, len(results.Rows))
	for i, row := range results.Rows {
		if address, ok := row.Get("Address").(wire.Fields); ok {
			row = wire.Fields{{"Address", address.Without("Extras")}}
		}
		rows[i] = row
	}
	return members.With(wire.Fields{{"Results", wire.List{Rows: rows}}})
}
