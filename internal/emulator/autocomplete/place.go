package autocomplete

import (
	"fmt"
	"strings"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/service"
)

// locality answers GET /GlobalExpressLocalityAdministrativeArea.
func (w completer) locality(c *service.Call) {
	locality := strings.ToLower(c.Value("locality"))
	area := strings.ToLower(c.Value("administrativearea"))
	w.replyPlaces(c, cityPlace, func(a *gazetteer.Address) bool {
		return strings.HasPrefix(strings.ToLower(a.City), locality) && isZIP(a, c.Value("postalcode")) &&
			(area == "" || area == strings.ToLower(a.State) || area == strings.ToLower(stateNames[a.State]))
	})
}

// postalCode answers GET /GlobalExpressPostalCode.
func (w completer) postalCode(c *service.Call) {
	if !c.Require("postalcode") {
		return
	}
	w.replyPlaces(c, zipPlace, func(a *gazetteer.Address) bool { return isZIP(a, c.Value("postalcode")) })
}

// isZIP returns whether an address has a postal code. A ZIP+4 counts as its ZIP,
// and "" fits all addresses.
func isZIP(a *gazetteer.Address, text string) bool {
	zip, _, _ := strings.Cut(strings.TrimSpace(text), "-")
	return zip == "" || zip == a.ZIP
}

// minThoroughfare is the shortest beginning of a street's name, in characters.
const minThoroughfare = 3

// thoroughfare answers GET /GlobalExpressThoroughfare.
func (w completer) thoroughfare(c *service.Call) {
	begin := strings.ToLower(strings.TrimSpace(c.Value("thoroughfare")))
	if begin == "" && c.Value("postalcode") == "" {
		c.Missing("thoroughfare", "postalcode")
		return
	}
	if begin != "" && len([]rune(begin)) < minThoroughfare {
		c.Invalid(service.FaultyInput{
			Name: "thoroughfare",
			Text: fmt.Sprintf("The field thoroughfare needs at least %d characters.", minThoroughfare),
		})
		return
	}
	w.replyPlaces(c, streetPlace, func(a *gazetteer.Address) bool {
		begins := func(s string) bool { return strings.HasPrefix(strings.ToLower(s), begin) }
		return !a.POBox && isZIP(a, c.Value("postalcode")) && (begins(a.Thoroughfare()) || begins(a.Street))
	})
}
