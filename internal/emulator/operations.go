package emulator

import "slices"

const nsReverseGeo = "urn:mdReverseGeoCode"

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
