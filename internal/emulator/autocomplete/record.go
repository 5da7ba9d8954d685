package autocomplete

import (
	"fmt"
	"slices"
	"strings"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/wire"
)

// textMembers are the texts of an address in the order of the wire. An answer has
// all of them.
var textMembers = slices.Concat(
	numbered("Address"), numbered("DeliveryAddress"),
	[]string{
		"CountryName", "ISO3166_2", "ISO3166_3", "ISO3166_N",
		"SuperAdministrativeArea", "AdministrativeArea", "SubAdministrativeArea",
		"Locality", "CityAccepted", "CityNotAccepted", "DependentLocality", "DoubleDependentLocality",
		"Thoroughfare", "DependentThoroughfare", "Building", "Premise", "SubBuilding",
		"PostalCode", "PostalCodePrimary", "PostalCodeSecondary",
		"Organization", "PostBox", "Unmatched", "GeneralDelivery", "DeliveryInstallation", "Route",
		"AdditionalContent", "CountrySubdivisionCode", "MAK", "BaseMAK", "Latitude", "Longitude",
	},
)

// numbered returns a name, and the name with 1 to 12.
func numbered(name string) []string {
	names := []string{name}
	for i := 1; i <= 12; i++ {
		names = append(names, fmt.Sprint(name, i))
	}
	return names
}

// addressRow returns an address. Members without a value are blank.
func addressRow(distance float64, values map[string]string) wire.Fields {
	row := make(wire.Fields, len(textMembers), len(textMembers)+2)
	for i, name := range textMembers {
		row[i] = wire.Field{Key: name, Value: values[name]}
	}
	return append(row, wire.Field{Key: "DistanceFromPoint", Value: distance})
}

// placeValues returns the members about the city of an address.
func placeValues(a *gazetteer.Address) map[string]string {
	return map[string]string{
		"CountryName": "United States Of America", "ISO3166_2": "US", "ISO3166_3": "USA", "ISO3166_N": "840",
		"AdministrativeArea": a.State, "SubAdministrativeArea": a.County,
		"Locality": a.City, "CityAccepted": a.City, "CountrySubdivisionCode": "US-" + a.State,
	}
}

func cityPlace(a *gazetteer.Address) wire.Fields {
	v := placeValues(a)
	v["Address"] = a.City + ", " + a.State
	v["Address1"] = v["Address"]
	return addressRow(0, v)
}

func zipPlace(a *gazetteer.Address) wire.Fields {
	v := placeValues(a)
	v["Address"] = a.City + ", " + a.State + " " + a.ZIP
	v["Address1"] = v["Address"]
	v["PostalCode"], v["PostalCodePrimary"] = a.ZIP, a.ZIP
	return addressRow(0, v)
}

func streetPlace(a *gazetteer.Address) wire.Fields {
	v := placeValues(a)
	v["Address1"] = a.Thoroughfare()
	v["Address2"] = a.City + ", " + a.State + " " + a.ZIP
	v["Address"] = v["Address1"] + ", " + v["Address2"]
	v["Thoroughfare"] = a.Thoroughfare()
	v["PostalCode"], v["PostalCodePrimary"] = a.ZIP, a.ZIP
	return addressRow(0, v)
}

// groups puts the units of a building into one group when compress is true. Any
// other address is a group of its own.
func groups(found []gazetteer.Found, compress bool) [][]gazetteer.Found {
	var all [][]gazetteer.Found
	at := make(map[string]int) // by the key of the building
	for _, f := range found {
		i, known := at[f.BaseMAK]
		if compress && f.BaseMAK != "" && known {
			all[i] = append(all[i], f)
			continue
		}
		at[f.BaseMAK] = len(all)
		all = append(all, []gazetteer.Found{f})
	}
	return all
}

// completed returns the record of a group. The units of a building share one
// record, with commas between their keys, suites and Plus4.
func completed(group []gazetteer.Found) wire.Fields {
	a := group[0].Address
	line, zip := a.Line, a.ZIPPlus4()
	if len(group) > 1 {
		line, zip = a.BaseLine(), a.ZIP
	}
	each := func(value func(*gazetteer.Address) string) string {
		values := make([]string, len(group))
		for i, f := range group {
			values[i] = value(f.Address)
		}
		return strings.Join(values, ",")
	}
	v := placeValues(a)
	v["Address1"], v["DeliveryAddress"], v["DeliveryAddress1"] = line, line, line
	v["Address2"] = a.City + ", " + a.State + " " + zip
	v["Address"] = line + ", " + v["Address2"]
	v["Thoroughfare"] = a.Thoroughfare()
	if a.POBox {
		v["PostBox"] = a.Line
	} else {
		v["Premise"] = a.Number
	}
	v["SubBuilding"] = each((*gazetteer.Address).Suite)
	v["PostalCode"], v["PostalCodePrimary"] = zip, a.ZIP
	v["PostalCodeSecondary"] = each(func(a *gazetteer.Address) string { return a.Plus4 })
	v["MAK"] = each(func(a *gazetteer.Address) string { return a.MAK })
	v["BaseMAK"] = a.BaseMAK
	v["Latitude"], v["Longitude"] = wire.Decimal(a.Latitude), wire.Decimal(a.Longitude)
	return addressRow(group[0].Miles, v)
}

// extras returns the members that cols asks for, nil for none, and a warning for
// each unknown column.
func extras(cols string) (extra wire.Fields, warnings []string) {
	for name := range strings.SplitSeq(cols, ",") {
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "":
		case "gbextras": // the world has no British address
			extra = append(extra, wire.Field{Key: "UDPRN", Value: ""}, wire.Field{Key: "UPRN", Value: ""})
		case "results":
			extra = append(extra, wire.Field{Key: "AddrObjectResultCode", Value: "AS01"})
		default:
			warnings = append(warnings, "GW10")
		}
	}
	return extra, warnings
}
