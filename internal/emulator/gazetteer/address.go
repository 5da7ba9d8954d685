package gazetteer

import "strings"

// Address is a house, an apartment, a business, a PO box or an empty lot.
type Address struct {
	MAK     string // the provider's key of an address, 10 digits
	BaseMAK string // the key of the building that a unit is in; "" for others
	// AddressKey is the postal key: ZIP, Plus4 and DeliveryPoint, 11 digits.
	AddressKey string

	Number        string // of the house, or of the PO box
	PreDirection  string
	Street        string // the bare name, such as "Larkspur"; "PO Box" for boxes
	Suffix        string
	PostDirection string
	SuiteName     string // "Apt" for units
	SuiteNumber   string
	Line          string // "12 Larkspur Way", "40 Teasel Ct Apt 3", "PO Box 17"

	City, State, ZIP, Plus4, DeliveryPoint, CarrierRoute string

	County    string
	FIPS      string // of the county, 5 digits
	CensusKey string // county, tract and block, 15 digits
	PlaceCode string
	RBDI      string // "R" for residences, "B" for businesses

	Latitude, Longitude float64

	POBox    bool
	EmptyLot bool
	// Parcel is nil for PO boxes, and for a building whose units have parcels
	// of their own.
	Parcel *Parcel
}

// ZIPPlus4 returns the whole postal code, such as "66999-1205".
func (a *Address) ZIPPlus4() string { return a.ZIP + "-" + a.Plus4 }

// Thoroughfare returns the street with its directions and suffix, such as
// "N Harrow Ave"; "" for PO boxes.
func (a *Address) Thoroughfare() string {
	if a.POBox {
		return ""
	}
	return joined(a.PreDirection, a.Street, a.Suffix, a.PostDirection)
}

// BaseLine returns the line without the unit.
func (a *Address) BaseLine() string {
	if a.POBox {
		return a.Line
	}
	return joined(a.Number, a.Thoroughfare())
}

// Suite returns the unit, such as "Apt 3"; "" when there is none.
func (a *Address) Suite() string { return joined(a.SuiteName, a.SuiteNumber) }

// OneLine returns the whole address on one line, such as
// "12 Larkspur Way, Elmstead, KS 66999-1205".
func (a *Address) OneLine() string {
	return a.Line + ", " + a.City + ", " + a.State + " " + a.ZIPPlus4()
}

// joined puts a space between the parts that are not empty.
func joined(parts ...string) string {
	var given []string
	for _, p := range parts {
		if p != "" {
			given = append(given, p)
		}
	}
	return strings.Join(given, " ")
}
