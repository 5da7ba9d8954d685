package emulator

import "slices"

const (
	nsProperty   = "http://schemas.datacontract.org/2004/07/PropertyWS"
	nsReverseGeo = "urn:mdReverseGeoCode"
)

// propertyOperations are the operations of the property service. Only
// LookupProperty takes several records.
func (e *Emulator) propertyOperations() map[string]operation {
	columns := []input{{get: "cols", post: "Columns"}, {get: "opt", post: "Options"}}
	return map[string]operation{
		"LookupProperty": {
			methods: getAndPost, request: "LookupPropertyRequest", codes: "TransmissionResults", unknownID: "GE05",
			inputs:   slices.Concat(columns, propertyRecordInputs()),
			response: propertyDocument("LookupPropertyResponse", "TransmissionResults"),
			handle:   e.lookupProperty,
		},
		"LookupDeeds": {
			methods: getAndPost, request: "LookupDeedsRequest", codes: "Results", unknownID: "GE05",
			inputs: append(columns,
				input{get: "fips", post: "FIPS"}, input{get: "apn", post: "APN"},
				input{get: "mak", post: "PropertyMAK"}, input{get: "ff", post: "FreeForm"},
				input{get: "txid", post: "TransactionID"}),
			response: propertyDocument("LookupDeedsResponse", "Results", field{"TransactionID", ""}),
			handle:   e.lookupDeeds,
		},
		"LookupHomesByOwner": {
			methods: getAndPost, request: "LookupHomesByOwnerRequest", codes: "Results", unknownID: "GE05",
			inputs:   []input{{get: "mak", post: "OwnerMAK"}, {get: "ff", post: "FreeForm"}},
			response: propertyDocument("LookupHomesByOwnerResponse", "Results"),
			handle:   e.lookupHomesByOwner,
		},
	}
}

func propertyRecordInputs() []input {
	inputs := []input{{post: "TotalRecords"}, {post: "Records", kind: listInput}}
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
		inputs = append(inputs, input{get: names[0], post: names[1], record: true})
	}
	return inputs
}

// propertyDocument is a blank response; codes is the member for the codes of
// the request.
func propertyDocument(root, codes string, further ...field) document {
	return document{root: root, space: nsProperty, members: slices.Concat(
		fields{{"Version", "9.4.2.9001"}, {transmissionReference, ""}, {codes, ""}, {"TotalRecords", 0}},
		further,
		fields{{"Records", list{item: "Record"}}},
	)}
}

// reverseGeoOperations are the operations of the reverse geocoding service. Each
// takes one origin; the records of doLookupFromList are its targets.
func (e *Emulator) reverseGeoOperations() map[string]operation {
	inputs := []input{
		{get: "lat", post: "Latitude"},
		{get: "long", post: "Longitude"},
		{get: "dist", post: "MaxDistance"},
		{get: "recs", post: "MaxRecords"},
		{get: "opt", post: "Options"},
	}
	targets := []input{{post: e.cfg.Prefix + "AddressKey"}, {post: "Records", kind: listInput}}
	return map[string]operation{
		"doLookup": {
			methods: getAndPost, inputs: inputs, request: "RequestArray", usual: formatXML,
			response: reverseGeoDocument("ResponseArray", "ResponseRecord"),
			codes:    "TransmissionResults", unknownID: "GE05", handle: e.reverseLookup,
		},
		"doLookupPostalCodes": {
			methods: getAndPost, inputs: inputs, request: "RequestArray", usual: formatXML,
			response: reverseGeoDocument("PostalResponseArray", "PostalLookupResponseRecord"),
			codes:    "TransmissionResults", unknownID: "GE05", handle: e.reversePostalCodes,
		},
		"doLookupFromList": {
			methods: onlyPost, inputs: slices.Concat(inputs, targets),
			response: reverseGeoDocument("", ""),
			codes:    "TransmissionResults", unknownID: "GE05", handle: e.reverseFromList,
		},
	}
}

func reverseGeoDocument(root, item string) document {
	return document{root: root, space: nsReverseGeo, members: fields{
		{"Version", "8.3.0.9001"},
		{transmissionReference, ""},
		{"TransmissionResults", ""},
		{"Results", ""},
		{"TotalRecords", 0},
		{"Records", list{item: item}},
	}}
}
