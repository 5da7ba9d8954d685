package reversegeo

import "syncd/internal/clients/service"

// Operations describes the three operations of SPEC.md, section "Reverse
// geocoding service"; names and minimum inputs are those of the wire.
func Operations() []*service.Operation {
	return []*service.Operation{doLookup, doLookupPostalCodes, doLookupFromList}
}

// The limits of the service, which are its defaults too.
const (
	maxMiles   = 10
	maxRecords = 100
)

// Inputs that all operations have, in the order that the provider's samples of
// XML show.
var (
	customerID  = service.Input{Name: "CustomerId", Kind: service.Identity}
	latitude    = service.Input{Name: "Latitude", Query: "lat", Kind: service.Latitude, Required: true, Means: "of the origin, in degrees"}
	longitude   = service.Input{Name: "Longitude", Query: "long", Kind: service.Longitude, Required: true, Means: "of the origin, in degrees"}
	maxDistance = service.Input{Name: "MaxDistance", Query: "dist", Kind: service.Decimals(0, maxMiles), Means: "miles; 10 unless said"}
	mostRecords = service.Input{Name: "MaxRecords", Query: "recs", Kind: service.Whole(1, maxRecords), Means: "in the answer; 100 unless said"}
	reference   = service.Input{Name: "TransmissionReference", Query: "t", Kind: service.Text, Means: "echoed in the answer"}
)

// addressOptions choose among addresses.
var addressOptions = service.Input{
	Name: "Options", Query: "opt", Kind: service.Options(map[string]service.Kind{
		"IncludeApartments": onOff, "IncludeEmptyLots": onOff, "IncludeUndeliverable": onOff,
	}), Means: "with commas between; unless said, undeliverable addresses are in, and the others out",
}

var onOff = service.OneOf("On", "Off")

var doLookup = &service.Operation{
	Name: "doLookup", Summary: "Find the addresses nearest to a point",
	Methods: service.GetPost, Formats: []string{service.JSON, service.XMLs}, Query: "format", XML: xmlNames,
	Fields: service.Fields{Inputs: []service.Input{
		customerID, latitude, longitude, maxDistance, mostRecords, addressOptions, reference,
	}},
}

var doLookupPostalCodes = &service.Operation{
	Name: "doLookupPostalCodes", Summary: "Find the postal codes nearest to a point",
	Methods: service.GetPost, Formats: []string{service.JSON, service.XMLs}, Query: "format", XML: xmlNames,
	Fields: service.Fields{Inputs: []service.Input{
		customerID, latitude, longitude, maxDistance, mostRecords,
		{
			Name: "Options", Query: "opt", Kind: service.Options(map[string]service.Kind{
				"Level": service.OneOf("PostalCode", "CarrierRoute", "Plus4"),
			}), Means: "5 digits, with the carrier's route, or ZIP+4; PostalCode unless said",
		},
		reference,
	}},
}

// doLookupFromList has an origin of either kind, a point or a key.
var doLookupFromList = &service.Operation{
	Name: "doLookupFromList", Summary: "Find which addresses of a list are nearest to an origin",
	Methods: service.PostOnly, Formats: []string{service.JSON},
	Fields: service.Fields{
		Inputs: []service.Input{
			customerID, optional(latitude), optional(longitude),
			{Name: "{Prefix}AddressKey", Kind: service.Key, Means: "key of the address that is the origin"},
			maxDistance, mostRecords, addressOptions, reference,
			{
				Name: "Records", Kind: service.Objects(maxRecords), Required: true, Means: "the targets, at most 100",
				Fields: service.Fields{Inputs: []service.Input{
					{Name: "{Prefix}AddressKey", Kind: service.Key, Required: true, Means: "key of the target's address"},
					{Name: "RecordID", Kind: service.Text, Required: true, Means: "echoed in the record of the answer"},
				}},
			},
		},
		AnyOf: []service.Set{{"Latitude", "Longitude"}, {"{Prefix}AddressKey"}}, OneSet: true,
	},
}

func optional(in service.Input) service.Input {
	in.Required = false
	return in
}

var xmlNames = service.XML{Root: "RequestArray", List: "Records"}
