package property

import (
	"slices"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/service"
	"syncd/internal/emulator/wire"
)

// Path is the base path of the operations.
const Path = "/property/v4/WEB"

// space is the XML namespace of all responses.
const space = "http://schemas.datacontract.org/2004/07/PropertyWS"

// foundCodes say that the address was matched and has data.
const foundCodes = "YS02,YS04"

// New returns the service.
func New(cfg service.Config) *service.Service {
	l := lookups{prefix: cfg.Prefix, world: cfg.World}
	return &service.Service{Path: Path, CustomerID: cfg.CustomerID, Operations: l.operations()}
}

// lookups are the operations over a world.
type lookups struct {
	prefix string
	world  *gazetteer.World
}

// operations returns the three operations. Only LookupProperty takes several
// records.
func (l lookups) operations() map[string]service.Operation {
	columns := []service.Input{{Query: "cols", Body: "Columns"}, {Query: "opt", Body: "Options"}}
	return map[string]service.Operation{
		"LookupProperty": {
			Methods: service.GetAndPost, Request: "LookupPropertyRequest", Codes: "TransmissionResults", UnknownID: "GE05",
			Inputs:   slices.Concat(columns, recordInputs()),
			Response: response("LookupPropertyResponse", "TransmissionResults"),
			Handle:   l.lookupProperty,
		},
		"LookupDeeds": {
			Methods: service.GetAndPost, Request: "LookupDeedsRequest", Codes: "Results", UnknownID: "GE05",
			Inputs: append(columns,
				service.Input{Query: "fips", Body: "FIPS"}, service.Input{Query: "apn", Body: "APN"},
				service.Input{Query: "mak", Body: "PropertyMAK"}, service.Input{Query: "ff", Body: "FreeForm"},
				service.Input{Query: "txid", Body: "TransactionID"}),
			Response: response("LookupDeedsResponse", "Results", wire.Field{Key: "TransactionID", Value: ""}),
			Handle:   l.lookupDeeds,
		},
		"LookupHomesByOwner": {
			Methods: service.GetAndPost, Request: "LookupHomesByOwnerRequest", Codes: "Results", UnknownID: "GE05",
			Inputs:   []service.Input{{Query: "mak", Body: "OwnerMAK"}, {Query: "ff", Body: "FreeForm"}},
			Response: response("LookupHomesByOwnerResponse", "Results"),
			Handle:   l.lookupHomesByOwner,
		},
	}
}

func recordInputs() []service.Input {
	inputs := []service.Input{{Body: "TotalRecords"}, {Body: "Records", Kind: service.List}}
	for _, names := range [][2]string{
		{"addresskey", "AddressKey"},
		{"fips", "FIPS"},
		{"apn", "APN"},
		{"account", "Account"},
		{"mak", "MAK"},
		{"ff", "FreeForm"},
		{"a1", "AddressLine1"},
		{"a2", "AddressLine2"},
		{"city", "City"},
		{"state", "State"},
		{"postal", "PostalCode"},
		{"ctry", "Country"},
	} {
		inputs = append(inputs, service.Input{Query: names[0], Body: names[1], InRecord: true})
	}
	return inputs
}

// response returns a blank response. codes is the member for the codes of the
// request; further members stand before the records.
func response(root, codes string, further ...wire.Field) wire.Document {
	return wire.Document{Root: root, Space: space, Members: slices.Concat(
		wire.Fields{{"Version", "9.4.2.9001"}, {service.TransmissionReference, ""}, {codes, ""}, {"TotalRecords", 0}},
		further,
		wire.Fields{{"Records", wire.List{Item: "Record"}}},
	)}
}
