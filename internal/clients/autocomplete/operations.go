package autocomplete

import (
	"slices"

	"syncd/internal/clients/service"
)

// Operations describes the six operations of SPEC.md, section "Address
// auto-complete service"; the other names are those of the wire.
func Operations() []*service.Operation {
	return []*service.Operation{address, country, freeForm, localityAdministrativeArea, postalCode, thoroughfare}
}

// Inputs that several operations have.
var (
	truth = service.OneOf(string(service.True), string(service.False))

	inCountry = service.Input{
		Name: "Country", Query: "country", Kind: service.Text, Default: "US",
		Means: "two-letter code or name; US when not given",
	}
	locality           = text("Locality", "locality", "city")
	administrativeArea = text("AdministrativeArea", "administrativearea", "state or province")
	inPostalCode       = text("PostalCode", "postalcode", "complete postal code")
	maxRecords         = service.Input{Name: "MaxRecords", Query: "maxrecords", Kind: service.Whole(1, 100), Means: "how many to return at most; 10 when not given"}
	nativeCharset      = service.Input{Name: "NativeCharset", Query: "nativecharset", Kind: truth, Means: "True for native script, False for Latin; that of the input when not given"}
	diacriticReplace   = service.Input{Name: "DiacriticReplace", Query: "diacriticreplace", Kind: truth, Means: "True strips accents"}
	options            = []service.Input{
		{Name: "Columns", Query: "cols", Kind: service.Known("list of columns", "gbextras", "results"), Means: "fill Extras: gbextras in GB, results in US"},
		{
			Name: "Options", Query: "opt", Kind: service.Options(map[string]service.Kind{"poboxes": service.OneOf("true", "false")}),
			Means: "poboxes:true includes PO boxes and military addresses (US)",
		},
		{Name: "SuiteCompression", Query: "suitecompression", Kind: truth, Means: "False returns each unit of a building by itself"},
	}
)

func text(name, query, means string) service.Input {
	return service.Input{Name: name, Query: query, Kind: service.Text, Means: means}
}

func required(in service.Input) service.Input {
	in.Required = true
	return in
}

// operation describes what they all have in common.
func operation(name, summary string, inputs ...service.Input) *service.Operation {
	return &service.Operation{
		Name: name, Summary: summary, Methods: service.GetOnly,
		Formats: []string{service.JSON, service.XMLs}, Query: "format", Script: true, XML: service.XML{List: "Results"},
		Fields: service.Fields{Inputs: inputs},
	}
}

var address = operation("GlobalExpressAddress", "Complete a street line of a known place", slices.Concat(
	[]service.Input{
		inCountry,
		required(text("Address1", "address1", "street line")),
		text("Address2", "address2", "further line"),
		locality, administrativeArea, inPostalCode, maxRecords, nativeCharset, diacriticReplace,
	}, options)...)

var country = operation("GlobalExpressCountry", "Find countries by a part of their name in five languages",
	required(text("Country", "country", "part of a name")))

var freeForm = open(operation("GlobalExpressFreeForm", "Complete an address that is written as one text", slices.Concat(
	[]service.Input{inCountry, required(text("FreeForm", "ff", "text, words with blanks between")), maxRecords, nativeCharset, diacriticReplace},
	options,
	[]service.Input{
		{Name: "FilterTerm", Query: "filterterm", Kind: service.Known("name of a filter", "zip", "latlong"), Means: "what to filter by (US)"},
		text("FilterList", "filterlist", "values of the filter: a ZIP code; latitude,longitude"),
		{Name: "SortType", Query: "sortType", Kind: service.Known("order", "distance"), Means: "distance goes with latlong"},
	})...))

// open lets an operation take parameters that no description knows: not all
// filters have been published.
func open(op *service.Operation) *service.Operation {
	op.Open = true
	return op
}

var localityAdministrativeArea = operation("GlobalExpressLocalityAdministrativeArea", "Find cities with their states by a city's name",
	inCountry, locality, administrativeArea, inPostalCode, maxRecords, nativeCharset, diacriticReplace)

var postalCode = operation("GlobalExpressPostalCode", "Find the cities and states of a postal code",
	inCountry, required(inPostalCode), maxRecords, diacriticReplace)

var thoroughfare = anyOf(operation("GlobalExpressThoroughfare", "Find streets by the beginning of their name, in a postal code or all",
	inCountry, inPostalCode,
	service.Input{Name: "Thoroughfare", Query: "thoroughfare", Kind: service.AtLeast(3), Means: "beginning of a street's name"},
	maxRecords, diacriticReplace), service.Set{"Thoroughfare"}, service.Set{"PostalCode"})

func anyOf(op *service.Operation, sets ...service.Set) *service.Operation {
	op.AnyOf = sets
	return op
}
