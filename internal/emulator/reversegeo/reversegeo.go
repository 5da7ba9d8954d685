package reversegeo

import (
	"slices"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/service"
	"syncd/internal/emulator/wire"
)

// Path is the base path of the operations.
const Path = "/reversegeo/v3/web/ReverseGeoCode"

// space is the XML namespace of all responses.
const space = "urn:mdReverseGeoCode"

// New returns the service. It matches paths without case.
func New(cfg service.Config) *service.Service {
	l := lookups{addressKey: cfg.AddressKey(), world: cfg.World}
	return &service.Service{Path: Path, FoldCase: true, CustomerID: cfg.CustomerID, Operations: l.operations()}
}

// lookups are the operations over a world.
type lookups struct {
	addressKey string // the name of the key of an address
	world      *gazetteer.World
}

// operations returns the three operations. Each takes one origin; the records of
// doLookupFromList are its targets.
func (l lookups) operations() map[string]service.Operation {
	inputs := []service.Input{
		{Query: "lat", Body: "Latitude"},
		{Query: "long", Body: "Longitude"},
		{Query: "dist", Body: "MaxDistance"},
		{Query: "recs", Body: "MaxRecords"},
		{Query: "opt", Body: "Options"},
	}
	targets := []service.Input{{Body: l.addressKey}, {Body: "Records", Kind: service.List}}
	return map[string]service.Operation{
		"doLookup": {
			Methods: service.GetAndPost, Inputs: inputs, Request: "RequestArray", Default: wire.XML,
			Response: response("ResponseArray", "ResponseRecord"),
			Codes:    "TransmissionResults", UnknownID: "GE05", Handle: l.doLookup,
		},
		"doLookupPostalCodes": {
			Methods: service.GetAndPost, Inputs: inputs, Request: "RequestArray", Default: wire.XML,
			Response: response("PostalResponseArray", "PostalLookupResponseRecord"),
			Codes:    "TransmissionResults", UnknownID: "GE05", Handle: l.doLookupPostalCodes,
		},
		"doLookupFromList": {
			Methods: service.OnlyPost, Inputs: slices.Concat(inputs, targets),
			Response: response("", ""),
			Codes:    "TransmissionResults", UnknownID: "GE05", Handle: l.doLookupFromList,
		},
	}
}

func response(root, item string) wire.Document {
	return wire.Document{Root: root, Space: space, Members: wire.Fields{
		{"Version", "8.3.0.9001"},
		{service.TransmissionReference, ""},
		{"TransmissionResults", ""},
		{"Results", ""},
		{"TotalRecords", 0},
		{"Records", wire.List{Item: item}},
	}}
}
