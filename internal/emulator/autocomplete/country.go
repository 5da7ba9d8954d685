package autocomplete

import (
	"strings"

	"syncd/internal/emulator/service"
	"syncd/internal/emulator/wire"
)

// country has the names and codes of a country.
type country struct {
	english, spanish, french, german, chinese string
	char2, char3, number                      string
}

// names returns the names in the order of a search.
func (c country) names() []string {
	return []string{c.english, c.spanish, c.french, c.german, c.chinese}
}

// matching returns the first name that contains a term, without case.
func (c country) matching(term string) (name string, ok bool) {
	for _, name := range c.names() {
		if strings.Contains(strings.ToLower(name), strings.ToLower(term)) {
			return name, true
		}
	}
	return "", false
}

// countryOperation searches the names of countries. Its term is the input country.
func countryOperation() service.Operation {
	op := operation(completeCountry)
	op.Response = response("Response", "Result")
	return op
}

// completeCountry answers GET /GlobalExpressCountry.
func completeCountry(c *service.Call) {
	if !c.Require("country") {
		return
	}
	results := wire.List{Item: "Result"}
	for _, known := range countries {
		name, ok := known.matching(c.Value("country"))
		if !ok {
			continue
		}
		results.Rows = append(results.Rows, wire.Fields{
			{"Country", name}, {"English", known.english}, {"Spanish", known.spanish},
			{"French", known.french}, {"German", known.german}, {"SimplifiedChinese", known.chinese},
			{"Char2ISO", known.char2}, {"Char3ISO", known.char3}, {"ISONumeric", known.number},
		})
	}
	code := "XS01"
	if len(results.Rows) == 0 {
		code = "XS03"
	}
	c.Reply(wire.Fields{{"ResultCode", code}, {"Results", results}})
}
