package listing

import (
	"strconv"

	"syncd/internal/emulator/gazetteer"
)

// recordColumns returns the columns of people, moves, sales, homes and businesses.
func recordColumns() map[string]column {
	columns := make(map[string]column)
	addPersonColumns(columns)
	addEventColumns(columns)
	addBusinessColumns(columns)
	return columns
}

// addPersonColumns adds each fact under all its names in the groups.
func addPersonColumns(columns map[string]column) {
	put := func(of func(*gazetteer.Person) any, names ...string) {
		for _, name := range names {
			columns[name] = func(r row) any {
				if r.person == nil {
					return ""
				}
				return of(r.person)
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

func ageOf(p *gazetteer.Person) int { return gazetteer.Year - p.BirthYear }

// addEventColumns adds the columns about moves, purchases and tenancies.
func addEventColumns(columns map[string]column) {
	columns["MoveEffectiveDate"] = func(r row) any {
		if r.mover == nil {
			return ""
		}
		return midnight(r.mover.Date)
	}
	bought := func(of func(*gazetteer.Homeowner) any) column {
		return func(r row) any {
			if r.buyer == nil {
				return ""
			}
			return of(r.buyer)
		}
	}
	columns["SellDate"] = bought(func(b *gazetteer.Homeowner) any { return midnight(b.Date) })
	columns["PurchasePrice"] = bought(func(b *gazetteer.Homeowner) any { return b.Price / 1000 })
	columns["MortgageAmount"] = bought(func(b *gazetteer.Homeowner) any { return b.Mortgage / 1000 })
	columns["Lender"] = bought(func(b *gazetteer.Homeowner) any { return b.Lender })
	columns["HomeOwnerRenterCode"] = func(r row) any {
		switch {
		case r.resident == nil:
			return ""
		case r.resident.Owner:
			return "H"
		}
		return "R"
	}
}

// midnight writes a date as the service does: with a time and without a zone.
func midnight(date string) string { return date + "T00:00:00" }

// addBusinessColumns adds the columns of a business. In a column that people have
// too, a business shows its own value and not its contact's.
func addBusinessColumns(columns map[string]column) {
	put := func(of func(*gazetteer.Business) any, names ...string) {
		for _, name := range names {
			persons := columns[name]
			columns[name] = func(r row) any {
				switch {
				case r.business != nil:
					return of(r.business)
				case persons != nil:
					return persons(r)
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
