package emulator

import (
	"encoding/json"
	"strconv"
	"strings"

	"syncd/internal/emulator/gazetteer"
)

// column gives a record's value: a string, a number, a bool or nil.
type column func(listRow) any

// value is a column of a record. What the world has no value for is blank.
func (g *listGroup) value(name string, row listRow) any {
	if column := g.columns[strings.ToLower(name)]; column != nil {
		return column(row)
	}
	return ""
}

// listColumns are the columns of all groups by lower-case name: where several
// have the same name they mean the same, but for AddressLine, which has the unit
// in it where there is no column for that.
func listColumns(prefix string, suite bool) map[string]column {
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

// atHome and its like below are blank where a group has no such thing.
func atHome(of func(*gazetteer.Address) any) column {
	return func(row listRow) any { return of(row.address) }
}

func atPrevious(of func(*gazetteer.Address) any) column {
	return func(row listRow) any {
		if row.previous == nil {
			return ""
		}
		return of(row.previous)
	}
}

// addressColumns are those of an address. A mover has them twice, and a
// business's mail arrives where it is.
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
	"Latitude":               func(a *gazetteer.Address) any { return degrees(a.Latitude) },
	"Longitude":              func(a *gazetteer.Address) any { return degrees(a.Longitude) },
	"POBoxStyleAddress":      func(a *gazetteer.Address) any { return a.POBox },
	"Vacant":                 func(a *gazetteer.Address) any { return a.EmptyLot },
	"BaseRecord":             func(a *gazetteer.Address) any { return a.BaseMAK == "" },
}

// numericKey is a number of 10 digits, or null.
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

// recordColumns are those of people, moves, sales, homes and businesses.
func recordColumns() map[string]column {
	columns := make(map[string]column)
	addPersonColumns(columns)
	addEventColumns(columns)
	addBusinessColumns(columns)
	return columns
}

// addPersonColumns gives each fact all the names that the groups have for it.
func addPersonColumns(columns map[string]column) {
	put := func(of func(*gazetteer.Person) any, names ...string) {
		for _, name := range names {
			columns[name] = func(row listRow) any {
				if row.person == nil {
					return ""
				}
				return of(row.person)
			}
		}
	}
	put(func(p *gazetteer.Person) any { return p.First }, "FirstName", "FirstName1", "ContactFirstName")
	put(func(p *gazetteer.Person) any { return p.Last }, "LastName", "ContactLastName")
	put(func(p *gazetteer.Person) any { return p.Middle }, "MiddleName", "MiddleNameInitial", "MiddleNameInitial1")
	put(func(p *gazetteer.Person) any { return p.Full() }, "FullName")
	put(func(p *gazetteer.Person) any { return p.Gender }, "Gender", "Gender1", "GenderCode", "ContactGender")
	put(func(p *gazetteer.Person) any { return strconv.Itoa(p.BirthYear) }, "BirthYear1")
	put(func(p *gazetteer.Person) any { return strconv.Itoa(ageOf(p)) }, "Age1")
	put(func(p *gazetteer.Person) any { return p.Phone }, "PhoneNumber", "FullPhoneNumber")
	put(func(p *gazetteer.Person) any { return p.Email }, "Email", "ContactEmail")
}

// worldYear is the year that ages are of, so that they never change.
const worldYear = 2026

func ageOf(p *gazetteer.Person) int { return worldYear - p.BirthYear }

// addEventColumns are about moving, buying and living somewhere.
func addEventColumns(columns map[string]column) {
	columns["MoveEffectiveDate"] = func(row listRow) any {
		if row.mover == nil {
			return ""
		}
		return midnight(row.mover.Date)
	}
	bought := func(of func(*gazetteer.Homeowner) any) column {
		return func(row listRow) any {
			if row.buyer == nil {
				return ""
			}
			return of(row.buyer)
		}
	}
	columns["SellDate"] = bought(func(b *gazetteer.Homeowner) any { return midnight(b.Date) })
	columns["PurchasePrice"] = bought(func(b *gazetteer.Homeowner) any { return b.Price / 1000 })
	columns["MortgageAmount"] = bought(func(b *gazetteer.Homeowner) any { return b.Mortgage / 1000 })
	columns["Lender"] = bought(func(b *gazetteer.Homeowner) any { return b.Lender })
	columns["HomeOwnerRenterCode"] = func(row listRow) any {
		switch {
		case row.resident == nil:
			return ""
		case row.resident.Owner:
			return "H"
		}
		return "R"
	}
}

// midnight writes a YYYY-MM-DD the way the service writes dates.
func midnight(date string) string { return date + "T00:00:00" }

// addBusinessColumns also corrects what a business has of its own in place of
// its contact's.
func addBusinessColumns(columns map[string]column) {
	put := func(of func(*gazetteer.Business) any, names ...string) {
		for _, name := range names {
			persons := columns[name]
			columns[name] = func(row listRow) any {
				switch {
				case row.business != nil:
					return of(row.business)
				case persons != nil:
					return persons(row)
				}
				return ""
			}
		}
	}
	put(func(b *gazetteer.Business) any { return b.Name }, "Name")
	put(func(b *gazetteer.Business) any { return b.Phone }, "PhoneNumber")
	put(func(b *gazetteer.Business) any { return b.SIC }, "PrimarySICCodeId")
	put(func(b *gazetteer.Business) any { return b.NAICS }, "NAICSCode1")
	put(func(b *gazetteer.Business) any { return b.Employees },
		"LocationEmployeeCount", "EstimatedLocationEmployeeCount", "CorporateEmployeeCount", "EstimatedCorporateEmployeeCount")
	put(func(b *gazetteer.Business) any { return b.Sales }, "LocationSalesVolume")
	put(func(b *gazetteer.Business) any { return strconv.Itoa(b.Founded) }, "EstimatedOpenedForBusiness")
	put(func(b *gazetteer.Business) any { return b.Title }, "JobTitles", "ContactJobTitles", "ProfessionalTitle", "ContactProfessionalTitle")
	put(func(b *gazetteer.Business) any { return b.Website }, "Website")
	put(func(b *gazetteer.Business) any { return b.Email }, "ContactEmail", "Email")
}
