package reversegeo_test

import (
	"strings"
	"testing"

	"syncd/internal/clients/reversegeo"
	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
)

func read[R any](t *testing.T, op, fixture string) *R {
	t.Helper()
	return servicetest.Read[R](t, servicetest.Operation(t, reversegeo.Operations(), op), fixture)
}

func TestReadAddresses(t *testing.T) {
	want := reversegeo.Address{
		AddressLine1: "12 Larkspur Way", City: "Elmstead", State: "KS", PostalCode: "66999", AddressKey: "66999120512",
		Place: reversegeo.Place{Latitude: 38.10422, Longitude: -97.55187, Distance: 0.004112},
		Key:   "4400112233", BaseKey: "0",
	}
	for _, fixture := range []string{"lookup.json", "lookup.xml", "lookup_no_namespace.xml", "lookup_prefixed.xml"} {
		t.Run(fixture, func(t *testing.T) {
			r := read[reversegeo.Addresses](t, "doLookup", fixture)
			servicetest.Check(t, []any{r.Version, r.TransmissionReference, len(r.TransmissionResults), r.Results.Has("GS07"), r.TotalRecords, r.Unknown}, "[8.3.0.9001 rg-1 0 true 1 []]")
			servicetest.Check(t, r.Records, []reversegeo.Address{want})
		})
	}
}

// A postal code has a carrier route only at some levels, and its latitude may be
// misspelt.
func TestReadPostalCodes(t *testing.T) {
	want := []reversegeo.PostalCode{
		{City: "Elmstead", State: "KS", PostalCode: "669991205", CarrierRoute: "C002", Place: reversegeo.Place{Latitude: 38.10422, Longitude: -97.55187, Distance: 0.004112}},
		{City: "Elmstead", State: "KS", PostalCode: "66998", Place: reversegeo.Place{Latitude: 38.2, Longitude: -97.6, Distance: 7}},
	}
	for _, fixture := range []string{"postal.json", "postal.xml"} {
		t.Run(fixture, func(t *testing.T) {
			r := read[reversegeo.PostalCodes](t, "doLookupPostalCodes", fixture)
			servicetest.Check(t, []any{r.TransmissionReference, r.Results.Has("GS07"), r.TotalRecords, r.Unknown}, "[rg-3 true 2 []]")
			servicetest.Check(t, r.Records, want)
		})
	}
}

func TestReadTargets(t *testing.T) {
	r := read[reversegeo.Addresses](t, "doLookupFromList", "from_list.json")
	a := r.Records[0]
	servicetest.Check(t, []any{a.RecordID, a.SuiteCount, a.Key, a.BaseKey, a.Distance, a.Unknown}, "[depot-b 12 4400113355 4400113300 0.611 []]")
}

// The answer has names in another case, numbers for texts, a single record
// without a list, and unknown members.
func TestReadOddAnswer(t *testing.T) {
	r := read[reversegeo.Addresses](t, "doLookup", "odd.json")
	servicetest.Check(t, []any{r.Version, r.TransmissionReference, r.TransmissionResults.Has("GW01"), len(r.Results), r.TotalRecords}, "[8.3  true 0 0]")
	servicetest.Check(t, r.Unknown, "[{TotalRecords many} {Quota [{Left 3}]}]")
	servicetest.Check(t, len(r.Records), 1)
	a := r.Records[0]
	servicetest.Check(t, []any{a.SuiteCount, a.City, a.Latitude, a.Longitude, a.Distance, a.Key}, "[2  38.1 0 0 4400112233]")
	servicetest.Check(t, a.Unknown, "[{AddressLine1 [12 Larkspur Way Rear]} {Longitude west} {Distance NaN} {Plus4 1205}]")
	for _, text := range []string{"Quota", "Plus4", "west"} {
		if !strings.Contains(string(r.Raw), text) {
			t.Errorf("%s is not in Raw", text)
		}
	}
}

// An answer without records has an empty list, null, or no member at all.
func TestReadEmptyAnswers(t *testing.T) {
	servicetest.Check(t, len(read[reversegeo.Addresses](t, "doLookup", "nothing.json").Records), 0)
	tests := map[string]struct{ format, body string }{
		"empty list":    {service.FormatJSON, `{"Results":"","Records":[]}`},
		"no list":       {service.FormatJSON, `{"Results":""}`},
		"empty element": {service.FormatXML, `<ResponseArray><Results/><Records/></ResponseArray>`},
		"no element":    {service.FormatXML, `<ResponseArray><Results/></ResponseArray>`},
		"nil element":   {service.FormatXML, `<ResponseArray xmlns:i="u"><Results/><Records i:nil="true"/></ResponseArray>`},
		"JSON for XML":  {service.FormatXML, `{"Results":"","Records":[]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := service.Read[reversegeo.Addresses](servicetest.Operation(t, reversegeo.Operations(), "doLookup"), service.Form{Format: test.format}, "Acme", []byte(test.body))
			if err != nil || len(r.Records) > 0 || len(r.Unknown) > 0 {
				t.Errorf("response %+v, error %v", r, err)
			}
		})
	}
}

// Any body gives a response or an error, in any format.
func FuzzDecode(f *testing.F) {
	servicetest.AddFixtures(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, op := range reversegeo.Operations() {
			for _, format := range op.Formats {
				decode(t, op, service.Form{Format: format}, body)
			}
		}
	})
}

func decode(t *testing.T, op *service.Operation, form service.Form, body []byte) {
	var response any
	var err error
	if op.Name == "doLookupPostalCodes" {
		response, err = service.Read[reversegeo.PostalCodes](op, form, "Acme", body)
	} else {
		response, err = service.Read[reversegeo.Addresses](op, form, "Acme", body)
	}
	if err == nil && response == nil {
		t.Errorf("%s %s: neither response nor error", op.Name, form.Format)
	}
}
