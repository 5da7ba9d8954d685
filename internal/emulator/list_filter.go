package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"syncd/internal/emulator/gazetteer"
)

// predicate tells whether a record fits a filter. A nil one is about something
// that the world has no value for.
type predicate func(listRow) bool

// filter reads the value of a filter.
type filter func(raw json.RawMessage) (predicate, error)

// selected returns the records that fit all of Includes and none of Excludes.
func (g *listGroup) selected(c *listCall) []listRow {
	includes := g.predicates(c, "Includes", true)
	excludes := g.predicates(c, "Excludes", false)
	if len(c.wrong) > 0 {
		return nil
	}
	var rows []listRow
	for _, row := range g.rows() {
		fits := func(p predicate) bool { return p(row) }
		if !slices.ContainsFunc(includes, func(p predicate) bool { return !p(row) }) && !slices.ContainsFunc(excludes, fits) {
			rows = append(rows, row)
		}
	}
	return rows
}

// predicates reads Includes or Excludes. Only Includes has the filters by shape,
// and must have one of the group's minimum.
func (g *listGroup) predicates(c *listCall, name string, includes bool) []predicate {
	raw := c.member(name)
	if isNull(raw) && !includes {
		return nil
	}
	members, err := objectMembers(raw)
	if err != nil {
		c.fault("$."+name, "The %s field is required as an object.", name)
		return nil
	}
	var all []predicate
	enough := false
	for _, m := range members {
		path := "$." + name + "." + m.name
		known, ok := g.filters[strings.ToLower(m.name)]
		if !ok || !includes && (known == "Radius" || known == "ShapeWKTs") {
			c.fault(path, "The filter %s is not known.", m.name)
			continue
		}
		if isNull(m.raw) || string(m.raw) == "[]" {
			continue
		}
		enough = enough || slices.Contains(g.minimum, known)
		p, err := g.filter(known)(m.raw)
		if err != nil {
			c.fault(path, "The JSON value could not be converted: %v.", err)
		}
		if p != nil {
			all = append(all, p)
		}
	}
	if includes && !enough {
		c.fault("$."+name, "At least one of %s is required.", strings.Join(g.minimum, ", "))
	}
	return all
}

// reading is a filter whose value is a T.
func reading[T any](predicateOf func(T) (predicate, error)) filter {
	return func(raw json.RawMessage) (predicate, error) {
		var value T
		if err := json.Unmarshal(raw, &value); err != nil {
			return nil, err
		}
		return predicateOf(value)
	}
}

// filter finds how a filter's value is read; a list of texts is the usual one.
func (g *listGroup) filter(name string) filter {
	switch name {
	case "Zips":
		return reading(zipFilter)
	case "Cities":
		return reading(cityFilter)
	case "PreviousCities":
		return g.textFilter("PreviousCity")
	case "Radius":
		return reading(radiusFilter)
	case "ShapeWKTs":
		return reading(shapeFilter)
	case "AddressStreetName":
		return reading(streetFilter)
	case "POBoxStyleAddress", "ZipIncludedIn3553", "DropInd", "Throwback", "DeliveryDaysFlag", "NonDeliveryDaysFlag",
		"NoStatInd", "NoSecureLocation", "DoorNotAccessible", "FalseTable", "BaseRecord", "NonUSPS", "CommercialMailReceivingAgency":
		return listFilter[bool](g, name)
	case "TransactionType", "AgeOfHouseholdCode", "HomeownershipCode", "PresenceOfChildrenCode", "DwellingCodeSpecific", "MoveDistanceCode":
		return listFilter[int](g, name)
	case "EmailMarketableInd", "ContactEmailMarketableInd", "WorkAtHome", "CorporateFranchising":
		return unheeded[bool]
	case "AgeRange", "AgeRangeMale", "AgeRangeFemale", "AgeRangeUnknownGender":
		return ageFilter(strings.TrimPrefix(name, "AgeRange"))
	case "CorporateEmployeeCount", "EstimatedCorporateEmployeeCount", "LocationEmployeeCount", "EstimatedLocationEmployeeCount", "LocationSalesVolume":
		return g.numberFilter(name)
	case "EstimatedOpenedForBusiness":
		return g.yearFilter(name)
	case "MoveEffectiveDate", "SellDate", "PublishedDate":
		return g.dateFilter(name)
	}
	return g.textFilter(name)
}

// filterColumns are the columns of filters with another name.
var filterColumns = map[string]string{
	"AddressLines": "AddressLine", "Address": "AddressLine", "Street": "AddressStreetName",
	"CountyName": "County", "PreviousCountyName": "PreviousCounty",
}

// column finds the column that a filter is about, or nil.
func (g *listGroup) column(filter string) column {
	if name, ok := filterColumns[filter]; ok {
		filter = name
	}
	return g.columns[strings.ToLower(filter)]
}

// textFilter compares the column's text without case.
func (g *listGroup) textFilter(name string) filter { return listFilter[string](g, name) }

// listFilter takes an array, one of whose items must be the column's value.
func listFilter[T string | bool | int](g *listGroup, name string) filter {
	return reading(func(wanted []T) (predicate, error) {
		column := g.column(name)
		if column == nil {
			return nil, nil
		}
		return func(row listRow) bool {
			own := columnText(column(row))
			return slices.ContainsFunc(wanted, func(w T) bool { return strings.EqualFold(fmt.Sprint(w), own) })
		}, nil
	})
}

func columnText(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// unheeded checks the type of what the world has no value for.
func unheeded[T any](raw json.RawMessage) (predicate, error) {
	return nil, json.Unmarshal(raw, new(T))
}

func zipFilter(wanted []struct{ Zip, Plus4, CarrierRoute string }) (predicate, error) {
	for _, w := range wanted {
		if w.Zip == "" {
			return nil, errors.New("the Zip field is required")
		}
	}
	return func(row listRow) bool {
		for _, w := range wanted {
			if w.Zip == row.address.ZIP && (w.Plus4 == "" || w.Plus4 == row.address.Plus4) &&
				(w.CarrierRoute == "" || strings.EqualFold(w.CarrierRoute, row.address.CarrierRoute)) {
				return true
			}
		}
		return false
	}, nil
}

func cityFilter(wanted []struct{ City, State string }) (predicate, error) {
	for _, w := range wanted {
		if w.City == "" || w.State == "" {
			return nil, errors.New("the City and State fields are required")
		}
	}
	return func(row listRow) bool {
		for _, w := range wanted {
			if strings.EqualFold(w.City, row.address.City) && strings.EqualFold(w.State, row.address.State) {
				return true
			}
		}
		return false
	}, nil
}

func radiusFilter(r struct{ Latitude, Longitude, Distance *float64 }) (predicate, error) {
	if r.Latitude == nil || r.Longitude == nil || r.Distance == nil {
		return nil, errors.New("the Latitude, Longitude and Distance fields are required")
	}
	return func(row listRow) bool {
		return gazetteer.Miles(*r.Latitude, *r.Longitude, row.address.Latitude, row.address.Longitude) <= *r.Distance
	}, nil
}

func shapeFilter(texts []string) (predicate, error) {
	shapes := make([]polygon, len(texts))
	for i, text := range texts {
		var err error
		if shapes[i], err = parsePolygon(text); err != nil {
			return nil, err
		}
	}
	return func(row listRow) bool {
		at := position{row.address.Longitude, row.address.Latitude}
		return slices.ContainsFunc(shapes, func(p polygon) bool { return p.contains(at) })
	}, nil
}

func streetFilter(wanted []struct{ ZipCode, Street string }) (predicate, error) {
	return func(row listRow) bool {
		a := row.address
		for _, w := range wanted {
			street := w.Street == "" || strings.EqualFold(w.Street, a.Street) || strings.EqualFold(w.Street, a.Thoroughfare())
			if street && (w.ZipCode == "" || w.ZipCode == a.ZIP) {
				return true
			}
		}
		return false
	}, nil
}

// numberRange holds its ends; one that is not given is open.
type numberRange struct{ Minimum, Maximum *int }

func (r numberRange) holds(n int) bool {
	return (r.Minimum == nil || n >= *r.Minimum) && (r.Maximum == nil || n <= *r.Maximum)
}

// ageFilter is about the people of one gender; the world knows everybody's.
func ageFilter(gender string) filter {
	return reading(func(ages numberRange) (predicate, error) {
		return func(row listRow) bool {
			p := row.person
			return p != nil && ages.holds(ageOf(p)) && (gender == "" || gender[:1] == p.Gender)
		}, nil
	})
}

func (g *listGroup) numberFilter(name string) filter {
	return reading(func(wanted numberRange) (predicate, error) {
		column := g.column(name)
		return func(row listRow) bool {
			n, ok := column(row).(int)
			return ok && wanted.holds(n)
		}, nil
	})
}

func (g *listGroup) yearFilter(name string) filter {
	return reading(func(wanted struct{ Minimum, Maximum string }) (predicate, error) {
		column := g.column(name)
		return func(row listRow) bool {
			year := columnText(column(row))
			return year >= wanted.Minimum && (wanted.Maximum == "" || year <= wanted.Maximum)
		}, nil
	})
}

func (g *listGroup) dateFilter(name string) filter {
	return reading(func(wanted struct{ StartDate, EndDate string }) (predicate, error) {
		start, err := parseDay(wanted.StartDate)
		if err != nil {
			return nil, err
		}
		end, err := parseDay(wanted.EndDate)
		if err != nil {
			return nil, err
		}
		column := g.column(name)
		if column == nil {
			return nil, nil
		}
		return func(row listRow) bool {
			date, _, _ := strings.Cut(columnText(column(row)), "T")
			return date >= start && (end == "" || date <= end)
		}, nil
	})
}

// parseDay reads the forms of dates in the samples, and returns YYYY-MM-DD; ""
// stays as it is.
func parseDay(text string) (string, error) {
	day := strings.ReplaceAll(text, "/", "-")
	if _, err := time.Parse(time.DateOnly, day); err != nil && day != "" {
		return "", fmt.Errorf("%q is not a date", text)
	}
	return day, nil
}
