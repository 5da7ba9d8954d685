package listing

import (
	"encoding/json"
	"strings"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/wire"
)

// column returns the value of a record: a string, a number, a bool or nil.
type column func(row) any

// value returns the value of a column, "" for a column that the world lacks.
func (g *group) value(name string, r row) any {
	if column := g.columns[strings.ToLower(name)]; column != nil {
		return column(r)
	}
	return ""
}

// columns returns the columns of all groups by lower-case name. A name means the
// same in every group but for AddressLine, which holds the unit where the group
// has no column Suite.
func columns(prefix string, suite bool) map[string]column {
	all := make(map[string]column)
	put := func(name string, of column) {
		all[strings.ToLower(strings.ReplaceAll(name, "{Prefix}", prefix))] = of
	}
	for name, of := range addressColumns {
		put(name, atHome(of))
		put("Previous"+name, atPrevious(of))
		put("Mailing"+name, atHome(of))
		put("MailingAddress"+name, atHome(of))
	}
	if !suite {
		put("AddressLine", atHome(func(a *gazetteer.Address) any { return a.Line }))
	}
	for name, of := range recordColumns() {
		put(name, of)
	}
	return all
}

func atHome(of func(*gazetteer.Address) any) column {
	return func(r row) any { return of(r.address) }
}

func atPrevious(of func(*gazetteer.Address) any) column {
	return func(r row) any {
		if r.previous == nil {
			return ""
		}
		return of(r.previous)
	}
}

// addressColumns are the columns of an address. A mover has a previous address
// too; the mailing address of a business is its address.
var addressColumns = map[string]func(*gazetteer.Address) any{
	"{Prefix}AddressKey":     func(a *gazetteer.Address) any { return numericKey(a.MAK) },
	"Base{Prefix}AddressKey": func(a *gazetteer.Address) any { return numericKey(a.BaseMAK) },
	"AddressLine":            func(a *gazetteer.Address) any { return a.BaseLine() },
	"Suite":                  func(a *gazetteer.Address) any { return a.Suite() },
	"City":                   func(a *gazetteer.Address) any { return a.City },
	"State":                  func(a *gazetteer.Address) any { return a.State },
	"ZIPCode":                func(a *gazetteer.Address) any { return a.ZIP },
	"Plus4":                  func(a *gazetteer.Address) any { return a.Plus4 },
	"DeliveryPoint":          func(a *gazetteer.Address) any { return a.DeliveryPoint },
	"AddressKey":             func(a *gazetteer.Address) any { return a.AddressKey },
	"ResultCodes":            func(*gazetteer.Address) any { return "AS01" },
	"AddressStreetNumber":    func(a *gazetteer.Address) any { return a.Number },
	"AddressDirectionPrefix": func(a *gazetteer.Address) any { return a.PreDirection },
	"AddressStreetName":      func(a *gazetteer.Address) any { return a.Street },
	"AddressStreetSuffix":    func(a *gazetteer.Address) any { return a.Suffix },
	"AddressDirectionSuffix": func(a *gazetteer.Address) any { return a.PostDirection },
	"AddressSuiteName":       func(a *gazetteer.Address) any { return a.SuiteName },
	"AddressSuiteNumber":     func(a *gazetteer.Address) any { return a.SuiteNumber },
	"AddressType":            func(a *gazetteer.Address) any { return addressType(a) },
	"AddressTypeCode":        func(a *gazetteer.Address) any { return addressType(a) },
	"RBDI":                   func(a *gazetteer.Address) any { return a.RBDI },
	"County":                 func(a *gazetteer.Address) any { return a.County },
	"CarrierRoute":           func(a *gazetteer.Address) any { return a.CarrierRoute },
	"FIPSCode":               func(a *gazetteer.Address) any { return a.FIPS },
	"PlaceCode":              func(a *gazetteer.Address) any { return a.PlaceCode },
	"CensusKey":              func(a *gazetteer.Address) any { return a.CensusKey },
	"Latitude":               func(a *gazetteer.Address) any { return wire.Decimal(a.Latitude) },
	"Longitude":              func(a *gazetteer.Address) any { return wire.Decimal(a.Longitude) },
	"POBoxStyleAddress":      func(a *gazetteer.Address) any { return a.POBox },
	"Vacant":                 func(a *gazetteer.Address) any { return a.EmptyLot },
	"BaseRecord":             func(a *gazetteer.Address) any { return a.BaseMAK == "" },
}

// numericKey returns a key as a JSON number of 10 digits, null for none.
func numericKey(mak string) any {
	if mak == "" {
		return nil
	}
	return json.Number(mak)
}

func addressType(a *gazetteer.Address) string {
	switch {
	case a.POBox:
		return "P"
	case a.SuiteNumber != "":
		return "H" // high-rise
	}
	return "S"
}
