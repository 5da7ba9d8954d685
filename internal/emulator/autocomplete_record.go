package emulator

import (
	"fmt"
	"slices"
	"strings"

	"syncd/internal/emulator/gazetteer"
)

// completionMembers are the texts of a completed address, in the order of the
// wire; all of them are always there.
var completionMembers = slices.Concat(
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

// completionRow is an address in which only some members have a value.
func completionRow(distance float64, values map[string]string) fields {
	row := make(fields, len(completionMembers), len(completionMembers)+2)
	for i, name := range completionMembers {
		row[i] = field{name, values[name]}
	}
	return append(row, field{"DistanceFromPoint", distance})
}

// placeValues are the members that say which city an address is in.
func placeValues(a *gazetteer.Address) map[string]string {
	return map[string]string{
		"CountryName": "United States Of America", "ISO3166_2": "US", "ISO3166_3": "USA", "ISO3166_N": "840",
		"AdministrativeArea": a.State, "SubAdministrativeArea": a.County,
		"Locality": a.City, "CityAccepted": a.City, "CountrySubdivisionCode": "US-" + a.State,
	}
}

func cityPlace(a *gazetteer.Address) fields {
	v := placeValues(a)
	v["Address"] = a.City + ", " + a.State
	v["Address1"] = v["Address"]
	return completionRow(0, v)
}

func zipPlace(a *gazetteer.Address) fields {
	v := placeValues(a)
	v["Address"] = a.City + ", " + a.State + " " + a.ZIP
	v["Address1"] = v["Address"]
	v["PostalCode"], v["PostalCodePrimary"] = a.ZIP, a.ZIP
	return completionRow(0, v)
}

func streetPlace(a *gazetteer.Address) fields {
	v := placeValues(a)
	v["Address1"] = a.Thoroughfare()
	v["Address2"] = a.City + ", " + a.State + " " + a.ZIP
	v["Address"] = v["Address1"] + ", " + v["Address2"]
	v["Thoroughfare"] = a.Thoroughfare()
	v["PostalCode"], v["PostalCodePrimary"] = a.ZIP, a.ZIP
	return completionRow(0, v)
}

// groups puts the units of a building together where compress is set; everything
// else stands alone.
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

// completed is the record of an address. Several units share one, in which what
// tells them apart is a list with commas.
func completed(group []gazetteer.Found) fields {
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
	v["Latitude"], v["Longitude"] = degrees(a.Latitude), degrees(a.Longitude)
	return completionRow(group[0].Miles, v)
}

// extras are the members that cols asks for, nil for none, and a warning for
// each column that is not known.
func extras(cols string) (extra fields, warnings []string) {
	for name := range strings.SplitSeq(cols, ",") {
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "":
		case "gbextras": // there is no British address
			extra = append(extra, field{"UDPRN", ""}, field{"UPRN", ""})
		case "results":
			extra = append(extra, field{"AddrObjectResultCode", "AS01"})
		default:
			warnings = append(warnings, "GW10")
		}
	}
	return extra, warnings
}
