package property

import (
	"fmt"
	"strconv"
	"strings"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/wire"
)

// defaultGroups are the groups of a request without Columns.
var defaultGroups = []string{
	"Parcel", "PropertyAddress", "PrimaryOwner", "CurrentDeed", "Tax", "PropertyUseInfo", "SaleInfo", "PropertySize",
}

// view writes a parcel as the groups of LookupProperty.
type view struct {
	prefix         string
	address        *gazetteer.Address
	parcel         *gazetteer.Parcel
	described      bool // texts in place of codes
	latestMortgage bool // the newest mortgage, also that of an older sale
}

// groups returns all sub-objects, each with the columns asked for.
func (v view) groups(columns string) wire.Fields {
	asked := selectColumns(columns, defaultGroups...)
	var row wire.Fields
	for _, g := range propertyGroups {
		row = append(row, wire.Field{Key: g.name, Value: asked.of(g.name, g.values(v.prefix, v.known(g.name)))})
	}
	return row
}

// known returns the members of a group that the world knows.
func (v view) known(group string) wire.Fields {
	p := v.parcel
	switch group {
	case "LastDeedOwnerInfo":
		return names(p.Deeds[0].Grantee, p.Deeds[0].CoGrantee)
	case "Shape":
		return wire.Fields{{"WellKnownText", p.Polygon}}
	case "Pool":
		return wire.Fields{{"Pool", yesNo(p.Pool)}}
	case "IntStructInfo":
		return wire.Fields{{"Construction", v.code(p.Construction)}, {"Foundation", v.code(p.Foundation)}}
	case "IntAmenities":
		return wire.Fields{{"Fireplace", yesNo(p.Fireplaces > 0)}, {"FireplaceCount", strconv.Itoa(p.Fireplaces)}}
	case "ExtStructInfo":
		return wire.Fields{{"Exterior1Code", v.code(p.Exterior)}, {"RoofMaterial", v.code(p.Roof)}}
	case "Utilities":
		return wire.Fields{{"HVACCoolingDetail", v.code(p.Cooling)}, {"HVACHeatingDetail", v.code(p.Heating)}}
	}
	if members := largeGroups[group]; members != nil {
		return members(v)
	}
	return nil
}

// largeGroups has a function for each group of several members.
var largeGroups = map[string]func(view) wire.Fields{
	"Parcel": view.land, "Legal": view.legal, "PropertyAddress": view.place, "ParsedPropertyAddress": view.parsedPlace,
	"PrimaryOwner": view.owner, "OwnerAddress": view.ownerPlace, "CurrentDeed": view.mortgage, "Tax": view.tax,
	"SaleInfo": view.sale, "EstimatedValue": view.estimate,
	"PropertyUseInfo": view.use, "PropertySize": view.size, "IntRoomInfo": view.rooms,
}

func (v view) land() wire.Fields {
	p, census := v.parcel, v.address.CensusKey
	return wire.Fields{
		{"AccountNumber", p.Account},
		{"CensusBlock", census[11:]},
		{"CensusBlockGrp", census[11:12]},
		{"CensusTract", census[5:11]},
		{"County", v.address.County},
		{"FIPSCode", p.FIPS},
		{"FormattedAPN", p.APN},
		{"UnformattedAPN", p.UnformattedAPN},
	}
}

func (v view) legal() wire.Fields {
	return wire.Fields{
		{"LegalDescription", "LOT " + v.parcel.Lot + " " + strings.ToUpper(v.parcel.Subdivision)},
		{"LotNumber1", v.parcel.Lot},
		{"Subdivision", v.parcel.Subdivision},
		{"Unit", v.address.SuiteNumber},
	}
}

func (v view) place() wire.Fields {
	a := v.address
	return wire.Fields{
		{"Address", a.Line},
		{"AddressKey", a.AddressKey},
		{"BaseMAK", a.BaseMAK},
		{"CarrierRoute", a.CarrierRoute},
		{"City", a.City},
		{"Latitude", wire.Decimal(a.Latitude)},
		{"Longitude", wire.Decimal(a.Longitude)},
		{"MAK", a.MAK},
		{"State", a.State},
		{"Zip", a.ZIP},
	}
}

func (v view) parsedPlace() wire.Fields {
	a := v.address
	return wire.Fields{
		{"PostDirectional", a.PostDirection},
		{"PreDirectional", a.PreDirection},
		{"Range", a.Number},
		{"StreetName", a.Street},
		{"Suffix", a.Suffix},
		{"SuiteName", a.SuiteName},
		{"SuiteRange", a.SuiteNumber},
	}
}

func (v view) owner() wire.Fields {
	p := v.parcel
	known := append(names(p.Owner, p.CoOwner), wire.Field{Key: v.prefix + "IdentityKey1", Value: p.Owner.IdentityKey})
	if p.CoOwner != nil {
		known = append(known, wire.Field{Key: v.prefix + "IdentityKey2", Value: p.CoOwner.IdentityKey})
	}
	return known
}

// names returns the members Name1… and Name2… for up to two people, nil for nobody.
func names(people ...*gazetteer.Person) wire.Fields {
	var all wire.Fields
	for i, p := range people {
		if p == nil {
			continue
		}
		name := fmt.Sprintf("Name%d", i+1)
		all = append(all, wire.Fields{{name + "First", p.First}, {name + "Full", p.Full()}, {name + "Last", p.Last}, {name + "Middle", p.Middle}}...)
	}
	return all
}

func (v view) ownerPlace() wire.Fields {
	home := v.parcel.OwnerAddress
	return wire.Fields{
		{"Address", home.Line},
		{"BaseMAK", home.BaseMAK},
		{"CarrierRoute", home.CarrierRoute},
		{"City", home.City},
		{"MAK", home.MAK},
		{"OwnerOccupied", yesNo(home == v.address)},
		{"State", home.State},
		{"Zip", home.ZIP},
	}
}

// mortgage returns the mortgage of the last sale, amount 0 for a sale without one.
func (v view) mortgage() wire.Fields {
	d := v.parcel.Deeds[0]
	for i := 0; v.latestMortgage && d.Lender == "" && i < len(v.parcel.Deeds); i++ {
		d = v.parcel.Deeds[i]
	}
	if d.Lender == "" {
		return wire.Fields{{"MortgageAmount", "0"}}
	}
	return wire.Fields{
		{"LenderName", d.Lender},
		{"MortgageAmount", strconv.Itoa(d.MortgageAmount)},
		{"MortgageDate", compact(d.Date)},
		{"MortgageDueDate", compact(d.MortgageDue)},
		{"MortgageLoanTypeCode", v.code("Conventional")},
		{"MortgageTerm", strconv.Itoa(d.MortgageTerm)},
		{"MortgageTermCode", v.code("Years")},
	}
}

func (v view) tax() wire.Fields {
	p, year := v.parcel, strconv.Itoa(v.parcel.AssessmentYear)
	return wire.Fields{
		{"AssessedImprovementsPerc", percent(p.AssessedImprovements, p.AssessedTotal())},
		{"AssessedValueImprovements", strconv.Itoa(p.AssessedImprovements)},
		{"AssessedValueLand", strconv.Itoa(p.AssessedLand)},
		{"AssessedValueTotal", strconv.Itoa(p.AssessedTotal())},
		{"MarketImprovementsPerc", percent(p.MarketImprovements, p.MarketTotal())},
		{"MarketValueImprovements", strconv.Itoa(p.MarketImprovements)},
		{"MarketValueLand", strconv.Itoa(p.MarketLand)},
		{"MarketValueTotal", strconv.Itoa(p.MarketTotal())},
		{"MarketValueYear", year},
		{"TaxBilledAmount", strconv.Itoa(p.TaxBilled)},
		{"TaxFiscalYear", year},
		{"YearAssessed", year},
	}
}

func (v view) sale() wire.Fields {
	d := v.parcel.Deeds[0]
	known := wire.Fields{
		{"AssessorLastSaleAmount", strconv.Itoa(d.Price)},
		{"AssessorLastSaleDate", compact(d.Date)},
		{"DeedLastDocumentNumber", d.Instrument},
		{"DeedLastSaleDate", compact(d.Date)},
		{"DeedLastSaleDocumentBook", d.Book},
		{"DeedLastSaleDocumentPage", d.Page},
		{"DeedLastSalePrice", strconv.Itoa(d.Price)},
		{"LastOwnershipTransferDate", compact(d.Date)},
		{"LastOwnershipTransferDocumentNumber", d.Instrument},
	}
	if len(v.parcel.Deeds) > 1 {
		prior := v.parcel.Deeds[1]
		known = append(known, wire.Fields{
			{"AssessorPriorSaleAmount", strconv.Itoa(prior.Price)}, {"AssessorPriorSaleDate", compact(prior.Date)},
		}...)
	}
	return known
}

func (v view) estimate() wire.Fields {
	value := v.parcel.EstimatedValue
	return wire.Fields{
		{"ConfidenceScore", "85"},
		{"EstimatedMaxValue", strconv.Itoa(value * 108 / 100)},
		{"EstimatedMinValue", strconv.Itoa(value * 92 / 100)},
		{"EstimatedValue", strconv.Itoa(value)},
		{"ValuationDate", fmt.Sprintf("%d0601", v.parcel.AssessmentYear)},
	}
}
