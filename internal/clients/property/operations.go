package property

import (
	"math"
	"strings"

	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
)

// Operations describes the three operations of the property service. Names and
// minimum inputs are those of docs/wire/property.md, section 2.
func Operations() []*service.Operation {
	return []*service.Operation{lookupProperty, lookupDeeds, lookupHomesByOwner}
}

// maxRecords bounds the properties of one request.
const maxRecords = 100

// Inputs that several operations have.
var (
	customerID = service.Input{Name: "CustomerId", Kind: service.Identity}
	reference  = service.Input{Name: "TransmissionReference", Query: "t", Kind: service.Text, Help: "echoed in the answer"}
	fips       = service.Input{Name: "FIPS", Query: "fips", Kind: service.Digits(5), Help: "county, by its FIPS code"}
	apn        = service.Input{Name: "APN", Query: "apn", Kind: service.Text, Help: "the assessor's parcel number"}
	freeForm   = service.Input{Name: "FreeForm", Query: "ff", Kind: service.Text, Help: "address in one line"}
)

// lookupProperty is the only operation that takes several records. The service
// may depend on the order of XML elements, so inputs have the order of its
// samples. AddressKey, Account and Country are in no sample. They come last, so
// that the service still finds the others.
var lookupProperty = &service.Operation{
	Name: "LookupProperty", Summary: "Look up properties by address, key or parcel number",
	Methods: service.GetPost, Formats: formats, Query: "format", XML: xmlNames("LookupPropertyRequest", propertyGroups),
	Fields: service.Fields{Inputs: []service.Input{
		reference, customerID,
		{Name: "TotalRecords", Kind: service.Count},
		columns(propertyGroups),
		{Name: "Options", Query: "opt", Kind: service.Options(map[string]service.Kind{
			"Desc": service.OneOf("on", "off"), "LatestMortgage": service.OneOf("On", "Off"),
		}), Help: "Desc:on gives words instead of codes; both are off by default"},
		{
			Name: "Records", Kind: service.Objects(maxRecords), Required: true, Help: "the properties, at most 100",
			Fields: service.Fields{
				Inputs: []service.Input{
					{Name: "RecordID", Kind: service.Text, Help: "echoed in the record of the answer"},
					{Name: "AddressLine1", Query: "a1", Kind: service.Text, Help: "house number and street"},
					{Name: "AddressLine2", Query: "a2", Kind: service.Text},
					{Name: "City", Query: "city", Kind: service.Text},
					{Name: "State", Query: "state", Kind: service.Text},
					{Name: "PostalCode", Query: "postal", Kind: service.Text},
					{Name: "MAK", Query: "mak", Kind: service.Key, Help: "key of the property's address"},
					fips, apn, freeForm,
					{Name: "AddressKey", Query: "addresskey", Kind: service.Digits(11), Help: "ZIP code, Plus4 and delivery point"},
					{Name: "Account", Query: "account", Kind: service.Text, Help: "the assessor's account number"},
					{Name: "Country", Query: "ctry", Kind: service.OneOf("US")},
				},
				AnyOf: []service.Set{
					{"AddressKey"}, {"FIPS", "APN"}, {"FIPS", "Account"}, {"MAK"}, {"FreeForm"},
					{"AddressLine1", "PostalCode"}, {"AddressLine1", "City", "State"},
				},
			},
		},
	}},
}

var lookupDeeds = &service.Operation{
	Name: "LookupDeeds", Summary: "Look up the deeds and transactions of a property",
	Methods: service.GetPost, Formats: formats, Query: "format", XML: xmlNames("LookupDeedsRequest", deedGroups, "PropertyAddress"),
	Fields: service.Fields{
		Inputs: []service.Input{
			reference, customerID, columns(deedGroups),
			{Name: "Options", Query: "opt", Kind: service.Options(map[string]service.Kind{
				"Page": service.Whole(1, math.MaxInt32), "RecordsPerPage": service.Whole(0, 100),
			}), Help: "a page has one record by default"},
			{Name: "PropertyMAK", Query: "mak", Kind: service.Key, Help: "key of the property's address"},
			fips, apn, freeForm,
			{Name: "TransactionID", Query: "txid", Kind: service.Text, Help: "deprecated"},
		},
		AnyOf: []service.Set{{"FIPS", "APN"}, {"PropertyMAK"}, {"FreeForm"}},
	},
}

var lookupHomesByOwner = &service.Operation{
	Name: "LookupHomesByOwner", Summary: "Look up the homes of the owner at an address",
	Methods: service.GetPost, Formats: formats, Query: "format", XML: xmlNames("LookupHomesByOwnerRequest", nil),
	Fields: service.Fields{
		Inputs: []service.Input{
			reference, customerID,
			{Name: "OwnerMAK", Query: "mak", Kind: service.Key, Help: "key of the owner's address"},
			freeForm,
		},
		AnyOf: []service.Set{{"OwnerMAK"}, {"FreeForm"}},
	},
}

var formats = []string{service.FormatJSON, service.FormatXML}

// xmlNames describes the XML of an operation whose records have a sub-object for
// each group of columns, and the further ones.
func xmlNames(root string, groups []string, further ...string) service.XML {
	var objects []string
	for _, group := range groups {
		objects = append(objects, "Records[]."+strings.TrimPrefix(group, "Grp"))
	}
	for _, name := range further {
		objects = append(objects, "Records[]."+name)
	}
	return service.XML{
		Root: root, Item: "Record",
		Schema: wire.Schema{Lists: []string{"Records"}, Objects: objects, Numbers: []string{"TotalRecords"}},
	}
}

// columns returns the input that chooses the columns of an answer. Single columns
// may be combined with groups.
func columns(groups []string) service.Input {
	return service.Input{
		Name: "Columns", Query: "cols", Kind: service.Known("columns and groups with commas between", groups...),
		Help: "what to return, e.g. " + groups[1] + "," + groups[2] + "; a small selection by default",
	}
}

// The groups of columns. Each is named Grp and its sub-object of a record.
var (
	propertyGroups = []string{
		"GrpAll", "GrpParcel", "GrpLegal", "GrpPropertyAddress", "GrpParsedPropertyAddress", "GrpPrimaryOwner", "GrpSecondaryOwner",
		"GrpOwnerAddress", "GrpLastDeedOwnerInfo", "GrpCurrentDeed", "GrpTax", "GrpPropertyUseInfo", "GrpSaleInfo", "GrpPropertySize", "GrpPool",
		"GrpIntStructInfo", "GrpIntRoomInfo", "GrpIntAmenities", "GrpExtStructInfo", "GrpExtAmenities", "GrpExtBuildings", "GrpUtilities",
		"GrpParking", "GrpYardGardenInfo", "GrpEstimatedValue", "GrpShape",
	}
	deedGroups = []string{
		"GrpAll", "GrpDocInfo", "GrpTxDefInfo", "GrpTxAmtInfo", "GrpPrimaryGrantor", "GrpPrimaryGrantee", "GrpSecondaryGrantor",
		"GrpSecondaryGrantee", "GrpTitleCompInfo", "GrpMortgage1", "GrpMortgage2", "GrpValuation",
	}
)
