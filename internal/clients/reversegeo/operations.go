package reversegeo

import (
	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
)

// Operations describes the three operations of the reverse geocoding service.
// Names and minimum inputs are those of docs/wire/reversegeo.md, section 2.
func Operations() []*service.Operation {
	return []*service.Operation{doLookup, doLookupPostalCodes, doLookupFromList}
}

// Limits of the service, and its defaults.
const (
	maxMiles   = 10
	maxRecords = 100
)

// Inputs that all operations have, in the order of the provider's XML samples.
var (
	customerID  = service.Input{Name: "CustomerId", Kind: service.Identity}
	latitude    = service.Input{Name: "Latitude", Query: "lat", Kind: service.Latitude, Required: true, Help: "of the origin, in degrees"}
	longitude   = service.Input{Name: "Longitude", Query: "long", Kind: service.Longitude, Required: true, Help: "of the origin, in degrees"}
	maxDistance = service.Input{Name: "MaxDistance", Query: "dist", Kind: service.Decimals(0, maxMiles), Help: "in miles; 10 by default"}
	mostRecords = service.Input{Name: "MaxRecords", Query: "recs", Kind: service.Whole(1, maxRecords), Help: "in the answer; 100 by default"}
	reference   = service.Input{Name: "TransmissionReference", Query: "t", Kind: service.Text, Help: "echoed in the answer"}
)

// addressOptions are the options of operations that return addresses.
var addressOptions = service.Input{
	Name: "Options", Query: "opt", Kind: service.Options(map[string]service.Kind{
		"IncludeApartments": onOff, "IncludeEmptyLots": onOff, "IncludeUndeliverable": onOff,
	}), Help: "apartments and empty lots are left out by default",
}

var onOff = service.OneOf("On", "Off")

var doLookup = &service.Operation{
	Name: "doLookup", Summary: "Find the addresses nearest to a point",
	Methods: service.GetPost, Formats: []string{service.FormatJSON, service.FormatXML}, Query: "format", XML: xmlNames,
	Fields: service.Fields{Inputs: []service.Input{
		customerID, latitude, longitude, maxDistance, mostRecords, addressOptions, reference,
	}},
}

var doLookupPostalCodes = &service.Operation{
	Name: "doLookupPostalCodes", Summary: "Find the postal codes nearest to a point",
	Methods: service.GetPost, Formats: []string{service.FormatJSON, service.FormatXML}, Query: "format", XML: xmlNames,
	Fields: service.Fields{Inputs: []service.Input{
		customerID, latitude, longitude, maxDistance, mostRecords,
		{
			Name: "Options", Query: "opt", Kind: service.Options(map[string]service.Kind{
				"Level": service.OneOf("PostalCode", "CarrierRoute", "Plus4"),
			}), Help: "PostalCode by default (5 digits); CarrierRoute adds the route, Plus4 is ZIP+4",
		},
		reference,
	}},
}

// doLookupFromList takes an origin that is either a point or an address key.
var doLookupFromList = &service.Operation{
	Name: "doLookupFromList", Summary: "Find the addresses of a list nearest to an origin",
	Methods: service.PostOnly, Formats: []string{service.FormatJSON},
	Fields: service.Fields{
		Inputs: []service.Input{
			customerID, optional(latitude), optional(longitude),
			{Name: "{Prefix}AddressKey", Kind: service.Key, Help: "key of the address that is the origin"},
			maxDistance, mostRecords, addressOptions, reference,
			{
				Name: "Records", Kind: service.Objects(maxRecords), Required: true, Help: "the targets, at most 100",
				Fields: service.Fields{Inputs: []service.Input{
					{Name: "{Prefix}AddressKey", Kind: service.Key, Required: true, Help: "key of the target's address"},
					{Name: "RecordID", Kind: service.Text, Required: true, Help: "echoed in the record of the answer"},
				}},
			},
		},
		AnyOf: []service.Set{{"Latitude", "Longitude"}, {"{Prefix}AddressKey"}}, Exclusive: true,
	},
}

func optional(in service.Input) service.Input {
	in.Required = false
	return in
}

var xmlNames = service.XML{
	Root: "RequestArray", Schema: wire.Schema{Lists: []string{"Records"}, Numbers: []string{"TotalRecords"}},
}
