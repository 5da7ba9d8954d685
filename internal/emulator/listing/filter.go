package listing

import (
	"encoding/json"
	"slices"
	"strings"

	"syncd/internal/emulator/service"
)

// predicate returns whether a record passes a filter. It is nil for a filter on a
// value that the world lacks.
type predicate func(row) bool

type filter func(raw json.RawMessage) (predicate, error)

// selected returns the records that pass all of Includes and none of Excludes.
func (g *group) selected(r *request) []row {
	includes, excludes := g.predicates(r, "Includes"), g.predicates(r, "Excludes")
	if len(r.wrong) > 0 {
		return nil
	}
	var rows []row
	for _, row := range g.rows() {
		passes := func(p predicate) bool { return p(row) }
		fails := func(p predicate) bool { return !p(row) }
		if !slices.ContainsFunc(includes, fails) && !slices.ContainsFunc(excludes, passes) {
			rows = append(rows, row)
		}
	}
	return rows
}

// predicates reads Includes or Excludes. Only Includes has the filters Radius and
// ShapeWKTs, and needs a filter of the group's minimum.
func (g *group) predicates(r *request, name string) []predicate {
	includes := name == "Includes"
	raw := r.call.Member(name)
	if isNull(raw) && !includes {
		return nil
	}
	members, err := service.ObjectMembers(raw)
	if err != nil {
		r.fault("$."+name, "The %s field is required as an object.", name)
		return nil
	}
	var all []predicate
	enough := false
	for _, m := range members {
		known, p := g.predicate(r, name, m)
		enough = enough || slices.Contains(g.minimum, known)
		if p != nil {
			all = append(all, p)
		}
	}
	if includes && !enough {
		r.fault("$."+name, "At least one of %s is required.", strings.Join(g.minimum, ", "))
	}
	return all
}

// predicate reads one filter of Includes or Excludes. It returns the filter's name,
// "" for an unknown or empty one.
func (g *group) predicate(r *request, parent string, m service.Member) (name string, p predicate) {
	path := "$." + parent + "." + m.Name
	name, ok := g.filters[strings.ToLower(m.Name)]
	if !ok || parent == "Excludes" && (name == "Radius" || name == "ShapeWKTs") {
		r.fault(path, "The filter %s is not known.", m.Name)
		return "", nil
	}
	if isNull(m.Raw) || string(m.Raw) == "[]" {
		return "", nil
	}
	p, err := g.filter(name)(m.Raw)
	if err != nil {
		r.fault(path, "The JSON value could not be converted: %v.", err)
	}
	return name, p
}

// reading returns a filter whose value is a T.
func reading[T any](predicateOf func(T) (predicate, error)) filter {
	return func(raw json.RawMessage) (predicate, error) {
		var value T
		if err := json.Unmarshal(raw, &value); err != nil {
			return nil, err
		}
		return predicateOf(value)
	}
}

// filter returns the filter of a name. Most take an array of texts.
func (g *group) filter(name string) filter {
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
		return ignored[bool]
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
