package property

import (
	"math"

	"syncd/internal/clients/service"
)

// Operations describes the three operations of SPEC.md, section "Property
// service"; names and minimum inputs are those of the wire.
func Operations() []*service.Operation {
	return []*service.Operation{lookupProperty, lookupDeeds, lookupHomesByOwner}
}

// maxRecords is how many properties one request may ask for.
const maxRecords = 100

// Inputs that several operations have.
var (
	customerID = service.Input{Name: "CustomerId", Kind: service.Identity}
	reference  = service.Input{Name: "TransmissionReference", Query: "t", Kind: service.Text, Means: "echoed in the answer"}
	fips       = service.Input{Name: "FIPS", Query: "fips", Kind: service.Digits(5), Means: "county, by its FIPS code"}
	apn        = service.Input{Name: "APN", Query: "apn", Kind: service.Text, Means: "the assessor's parcel number"}
	freeForm   = service.Input{Name: "FreeForm", Query: "ff", Kind: service.Text, Means: "address in one line"}
)

// lookupProperty is the only one that takes several records. The provider's
// reader of XML may care about the order of elements. Its samples do not say
// where AddressKey, Account and Country belong: they come last, where they
// cannot hide another element from it.
var lookupProperty = &service.Operation{
	Name: "LookupProperty", Summary: "Look up properties by address, key or parcel number",
	Methods: service.GetPost, Formats: formats, Query: "format", XML: xmlNames("LookupPropertyRequest"),
	Fields: service.Fields{Inputs: []service.Input{
		reference, customerID,
		{Name: "TotalRecords", Kind: service.Count},
		columns(propertyGroups),
		{Name: "Options", Query: "opt", Kind: service.Options(map[string]service.Kind{
			"Desc": service.OneOf("on", "off"), "LatestMortgage": service.OneOf("On", "Off"),
		}), Means: "Desc:on gives words in place of codes; both are off unless said"},
		{
			Name: "Records", Kind: service.Objects(maxRecords), Required: true, Means: "the properties, at most 100",
			Fields: service.Fields{
				Inputs: []service.Input{
					{Name: "RecordID", Kind: service.Text, Means: "echoed in the record of the answer"},
					{Name: "AddressLine1", Query: "a1", Kind: service.Text, Means: "house number and street"},
					{Name: "AddressLine2", Query: "a2", Kind: service.Text},
					{Name: "City", Query: "city", Kind: service.Text},
					{Name: "State", Query: "state", Kind: service.Text},
					{Name: "PostalCode", Query: "postal", Kind: service.Text},
					{Name: "MAK", Query: "mak", Kind: service.Key, Means: "key of the property's address"},
					fips, apn, freeForm,
					{Name: "AddressKey", Query: "addresskey", Kind: service.Digits(11), Means: "ZIP code, Plus4 and delivery point"},
					{Name: "Account", Query: "account", Kind: service.Text, Means: "the assessor's account number"},
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
	Methods: service.GetPost, Formats: formats, Query: "format", XML: xmlNames("LookupDeedsRequest"),
	Fields: service.Fields{
		Inputs: []service.Input{
			reference, customerID, columns(deedGroups),
			{Name: "Options", Query: "opt", Kind: service.Options(map[string]service.Kind{
				"Page": service.Whole(1, math.MaxInt32), "RecordsPerPage": service.Whole(0, 100),
			}), Means: "without RecordsPerPage a page has one record"},
			{Name: "PropertyMAK", Query: "mak", Kind: service.Key, Means: "key of the property's address"},
			fips, apn, freeForm,
			{Name: "TransactionID", Query: "txid", Kind: service.Text, Means: "deprecated"},
		},
		AnyOf: []service.Set{{"FIPS", "APN"}, {"PropertyMAK"}, {"FreeForm"}},
	},
}

var lookupHomesByOwner = &service.Operation{
	Name: "LookupHomesByOwner", Summary: "Look up the homes of an owner, by the address that the owner has",
	Methods: service.GetPost, Formats: formats, Query: "format", XML: xmlNames("LookupHomesByOwnerRequest"),
	Fields: service.Fields{
		Inputs: []service.Input{
			reference, customerID,
			{Name: "OwnerMAK", Query: "mak", Kind: service.Key, Means: "key of the owner's address"},
			freeForm,
		},
		AnyOf: []service.Set{{"OwnerMAK"}, {"FreeForm"}},
	},
}

var formats = []string{service.JSON, service.XMLs}

func xmlNames(root string) service.XML {
	return service.XML{Root: root, Item: "Record", List: "Records"}
}

// columns is the choice of what an answer has; single columns may be named too.
func columns(groups []string) service.Input {
	return service.Input{
		Name: "Columns", Query: "cols", Kind: service.Known("columns and groups with commas between", groups...),
		Means: "what to return, e.g. " + groups[1] + "," + groups[2] + "; left out, a small selection",
	}
}

// The groups of columns, each named after its sub-object of a record.
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
