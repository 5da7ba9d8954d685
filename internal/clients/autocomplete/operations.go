package autocomplete

import (
	"slices"

	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
)

// Operations describes the six operations of the address auto-complete service.
// docs/wire/autocomplete.md, section 2, has the names.
func Operations() []*service.Operation {
	return []*service.Operation{address, country, freeForm, localityAdministrativeArea, postalCode, thoroughfare}
}

// Inputs that several operations have.
var (
	truth = service.OneOf(string(service.True), string(service.False))

	inCountry = service.Input{
		Name: "Country", Query: "country", Kind: service.Text, Default: "US",
		Help: "two-letter code or name; US by default",
	}
	locality           = text("Locality", "locality", "city")
	administrativeArea = text("AdministrativeArea", "administrativearea", "state or province")
	inPostalCode       = text("PostalCode", "postalcode", "complete postal code")
	maxRecords         = service.Input{Name: "MaxRecords", Query: "maxrecords", Kind: service.Whole(1, 100), Help: "highest number of results; 10 by default"}
	nativeCharset      = service.Input{Name: "NativeCharset", Query: "nativecharset", Kind: truth, Help: "True native script, False Latin; that of the input by default"}
	diacriticReplace   = service.Input{Name: "DiacriticReplace", Query: "diacriticreplace", Kind: truth, Help: "True strips accents"}
	options            = []service.Input{
		{Name: "Columns", Query: "cols", Kind: service.Known("list of columns", "gbextras", "results"), Help: "adds Extras: gbextras in GB, results in US"},
		{
			Name: "Options", Query: "opt", Kind: service.Options(map[string]service.Kind{"poboxes": service.OneOf("true", "false")}),
			Help: "poboxes:true includes PO boxes and military addresses (US)",
		},
		{Name: "SuiteCompression", Query: "suitecompression", Kind: truth, Help: "False returns each unit of a building as a result"},
	}
)

func text(name, query, means string) service.Input {
	return service.Input{Name: name, Query: query, Kind: service.Text, Help: means}
}

func required(in service.Input) service.Input {
	in.Required = true
	return in
}

// answers is the schema of all answers in XML; Country has no Address.
var answers = wire.Schema{
	Lists: []string{"Results"}, Objects: []string{"Results[].Address.Extras"}, Numbers: []string{"Results[].Address.DistanceFromPoint"},
}

// operation returns a description with the parts that all operations share.
func operation(name, summary string, inputs ...service.Input) *service.Operation {
	return &service.Operation{
		Name: name, Summary: summary, Methods: service.GetOnly,
		Formats: []string{service.FormatJSON, service.FormatXML}, Query: "format", JSONP: true, XML: service.XML{Schema: answers},
		Fields: service.Fields{Inputs: inputs},
	}
}

var address = operation("GlobalExpressAddress", "Complete a street line of a place", slices.Concat(
	[]service.Input{
		inCountry,
		required(text("Address1", "address1", "street line")),
		text("Address2", "address2", "further line"),
		locality, administrativeArea, inPostalCode, maxRecords, nativeCharset, diacriticReplace,
	}, options)...)

var country = operation("GlobalExpressCountry", "Find countries by part of a name",
	required(text("Country", "country", "part of a name in any of five languages")))

var freeForm = open(operation("GlobalExpressFreeForm", "Complete an address given as one text", slices.Concat(
	[]service.Input{inCountry, required(text("FreeForm", "ff", "words with blanks between")), maxRecords, nativeCharset, diacriticReplace},
	options,
	[]service.Input{
		{Name: "FilterTerm", Query: "filterterm", Kind: service.Known("name of a filter", "zip", "latlong"), Help: "filter to apply (US)"},
		text("FilterList", "filterlist", "values of the filter: a ZIP code; latitude,longitude"),
		{Name: "SortType", Query: "sortType", Kind: service.Known("order", "distance"), Help: "distance goes with latlong"},
	})...))

// open lets an operation take parameters that are not described, because the
// provider has not published all its filters.
func open(op *service.Operation) *service.Operation {
	op.Open = true
	return op
}

var localityAdministrativeArea = operation("GlobalExpressLocalityAdministrativeArea", "Find cities by name",
	inCountry, locality, administrativeArea, inPostalCode, maxRecords, nativeCharset, diacriticReplace)

var postalCode = operation("GlobalExpressPostalCode", "Find the cities of a postal code",
	inCountry, required(inPostalCode), maxRecords, diacriticReplace)

var thoroughfare = anyOf(operation("GlobalExpressThoroughfare", "Find streets by name or postal code",
	inCountry, inPostalCode,
	service.Input{Name: "Thoroughfare", Query: "thoroughfare", Kind: service.AtLeast(3), Help: "beginning of a street's name"},
	maxRecords, diacriticReplace), service.Set{"Thoroughfare"}, service.Set{"PostalCode"})

func anyOf(op *service.Operation, sets ...service.Set) *service.Operation {
	op.AnyOf = sets
	return op
}
