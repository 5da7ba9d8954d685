package contribution

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"syncd/internal/emulator/service"
)

// The checks hold the minimum inputs of docs/wire/contribution.md, section 2.
// Each returns false after it answered 400.

func checkAddMAK(c *service.Call) bool {
	return c.Require("AddressLine1", "Locality", "AdministrativeArea", "PostalCode", "Country", "Latitude", "Longitude") &&
		checkCoordinates(c)
}

// checkGeoPoint needs a country in a query only: the provider's own sample of a
// body has none.
func (k keys) checkGeoPoint(c *service.Call) bool {
	names := []string{k.address, "Latitude", "Longitude"}
	if c.IsQuery() {
		names = append(names, "Country")
	}
	return c.Require(names...) && checkCoordinates(c)
}

func checkCoordinates(c *service.Call) bool {
	var faulty []service.FaultyInput
	for _, name := range []string{"Latitude", "Longitude"} {
		if _, err := strconv.ParseFloat(c.Value(name), 64); err != nil {
			faulty = append(faulty, service.NotValid(name, c.Value(name)))
		}
	}
	if len(faulty) > 0 {
		c.Invalid(faulty...)
	}
	return len(faulty) == 0
}

func checkChange(key string) func(*service.Call) bool {
	return func(c *service.Call) bool { return c.Require(key) && checkPairs(c, "Current", "ChangeTo") }
}

// checkPairs needs each list to hold pairs, and each pair a key. The emulator
// accepts any key: the provider checks keys in its review.
func checkPairs(c *service.Call, lists ...string) bool {
	var absent []string
	for _, name := range lists {
		if len(c.List(name)) == 0 {
			absent = append(absent, name)
		}
		for i, pair := range c.List(name) {
			if pair.Value("Key") == "" {
				absent = append(absent, fmt.Sprintf("%s[%d].Key", name, i))
			}
		}
	}
	if len(absent) > 0 {
		c.Missing(absent...)
	}
	return len(absent) == 0
}

func checkAction(c *service.Call, allowed ...string) bool {
	if slices.Contains(allowed, strings.ToLower(c.Value("Action"))) {
		return true
	}
	c.Invalid(service.NotValid("Action", c.Value("Action")))
	return false
}

func (k keys) checkRemoveMAK(c *service.Call) bool {
	return c.Require("Action", k.address) && checkAction(c, "delete", "suppression")
}

// checkRemoveMIK needs the identity key, or an address with a name. The second
// address line may be empty but must be there.
func (k keys) checkRemoveMIK(c *service.Call) bool {
	if !c.Require("Action") || !checkAction(c, "delete", "suppression", "cpadelete", "cpalimit", "cpaoptout") {
		return false
	}
	if c.First(k.identification, k.identity) != "" {
		return true
	}
	if !c.Has("AddressLine2") {
		c.Missing(k.identification, "AddressLine2")
		return false
	}
	name := []string{"FullName"}
	if c.Value("FullName") == "" && c.First("FirstName", "LastName") != "" {
		name = []string{"FirstName", "LastName"}
	}
	return c.Require(append(name, "AddressLine1", "City", "State", "PostalCode")...)
}
