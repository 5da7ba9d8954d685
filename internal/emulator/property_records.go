package emulator

import (
	"fmt"
	"strconv"
	"strings"

	"syncd/internal/emulator/gazetteer"
)

// usualProperty are the groups of a request that names none.
var usualProperty = []string{
	"Parcel", "PropertyAddress", "PrimaryOwner", "CurrentDeed", "Tax", "PropertyUseInfo", "SaleInfo", "PropertySize",
}

// propertyView makes the groups of LookupProperty from a parcel.
type propertyView struct {
	prefix         string
	address        *gazetteer.Address
	parcel         *gazetteer.Parcel
	described      bool // words in place of codes
	latestMortgage bool // the newest mortgage, be it of an older sale
}

// groups returns all sub-objects with what was asked for.
func (v propertyView) groups(columns string) fields {
	asked := selectColumns(columns, usualProperty...)
	var row fields
	for _, g := range propertyGroups {
		row = append(row, field{g.name, asked.of(g.name, g.values(v.prefix, v.known(g.name)))})
	}
	return row
}

// known returns what the world knows of a group; all else stays blank.
func (v propertyView) known(group string) fields {
	switch group {
	case "Parcel":
		return v.land()
	case "Legal":
		return v.legal()
	case "PropertyAddress":
		return v.place()
	case "ParsedPropertyAddress":
		return v.parsedPlace()
	case "PrimaryOwner":
		return v.owner()
	case "OwnerAddress":
		return v.ownerPlace()
	case "LastDeedOwnerInfo":
		return names(v.parcel.Deeds[0].Grantee, v.parcel.Deeds[0].CoGrantee)
	case "CurrentDeed":
		return v.mortgage()
	case "Tax":
		return v.tax()
	case "SaleInfo":
		return v.sale()
	case "EstimatedValue":
		return v.estimate()
	case "Shape":
		return fields{{"WellKnownText", v.parcel.Polygon}}
	}
	return v.building(group)
}

func (v propertyView) land() fields {
	p, census := v.parcel, v.address.CensusKey
	return fields{
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

func (v propertyView) legal() fields {
	return fields{
		{"LegalDescription", "LOT " + v.parcel.Lot + " " + strings.ToUpper(v.parcel.Subdivision)},
		{"LotNumber1", v.parcel.Lot},
		{"Subdivision", v.parcel.Subdivision},
		{"Unit", v.address.SuiteNumber},
	}
}

func (v propertyView) place() fields {
	a := v.address
	return fields{
		{"Address", a.Line},
		{"AddressKey", a.AddressKey},
		{"BaseMAK", a.BaseMAK},
		{"CarrierRoute", a.CarrierRoute},
		{"City", a.City},
		{"Latitude", degrees(a.Latitude)},
		{"Longitude", degrees(a.Longitude)},
		{"MAK", a.MAK},
		{"State", a.State},
		{"Zip", a.ZIP},
	}
}

func (v propertyView) parsedPlace() fields {
	a := v.address
	return fields{
		{"PostDirectional", a.PostDirection},
		{"PreDirectional", a.PreDirection},
		{"Range", a.Number},
		{"StreetName", a.Street},
		{"Suffix", a.Suffix},
		{"SuiteName", a.SuiteName},
		{"SuiteRange", a.SuiteNumber},
	}
}

func (v propertyView) owner() fields {
	p := v.parcel
	known := append(names(p.Owner, p.CoOwner), field{v.prefix + "IdentityKey1", p.Owner.IdentityKey})
	if p.CoOwner != nil {
		known = append(known, field{v.prefix + "IdentityKey2", p.CoOwner.IdentityKey})
	}
	return known
}

// names are the members of the first person and, when there is one, the second.
func names(people ...*gazetteer.Person) fields {
	var all fields
	for i, p := range people {
		if p == nil {
			continue
		}
		name := fmt.Sprintf("Name%d", i+1)
		all = append(all, fields{{name + "First", p.First}, {name + "Full", p.Full()}, {name + "Last", p.Last}, {name + "Middle", p.Middle}}...)
	}
	return all
}

func (v propertyView) ownerPlace() fields {
	home := v.parcel.OwnerAddress
	return fields{
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

// mortgage is that of the last sale, which may have been paid in full.
func (v propertyView) mortgage() fields {
	d := v.parcel.Deeds[0]
	for i := 0; v.latestMortgage && d.Lender == "" && i < len(v.parcel.Deeds); i++ {
		d = v.parcel.Deeds[i]
	}
	if d.Lender == "" {
		return fields{{"MortgageAmount", "0"}}
	}
	return fields{
		{"LenderName", d.Lender},
		{"MortgageAmount", strconv.Itoa(d.MortgageAmount)},
		{"MortgageDate", compact(d.Date)},
		{"MortgageDueDate", compact(d.MortgageDue)},
		{"MortgageLoanTypeCode", v.code("Conventional")},
		{"MortgageTerm", strconv.Itoa(d.MortgageTerm)},
		{"MortgageTermCode", v.code("Years")},
	}
}

func (v propertyView) tax() fields {
	p, year := v.parcel, strconv.Itoa(v.parcel.AssessmentYear)
	return fields{
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

func (v propertyView) sale() fields {
	d := v.parcel.Deeds[0]
	known := fields{
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
		known = append(known, fields{
			{"AssessorPriorSaleAmount", strconv.Itoa(prior.Price)}, {"AssessorPriorSaleDate", compact(prior.Date)},
		}...)
	}
	return known
}

func (v propertyView) estimate() fields {
	value := v.parcel.EstimatedValue
	return fields{
		{"ConfidenceScore", "85"},
		{"EstimatedMaxValue", strconv.Itoa(value * 108 / 100)},
		{"EstimatedMinValue", strconv.Itoa(value * 92 / 100)},
		{"EstimatedValue", strconv.Itoa(value)},
		{"ValuationDate", fmt.Sprintf("%d0601", v.parcel.AssessmentYear)},
	}
}
