package autocomplete_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"syncd/internal/clients/autocomplete"
	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
)

func client(server *servicetest.Server) *autocomplete.Client {
	return &autocomplete.Client{Client: server.Client("autocomplete", "/web", "Acme")}
}

type call func(context.Context, *autocomplete.Client, service.Form) (*autocomplete.Envelope, error)

// head holds the members that all responses share.
func head(r *autocomplete.Response, err error) (*autocomplete.Envelope, error) {
	if r == nil {
		return nil, err
	}
	return &r.Envelope, err
}

func byAddress(req autocomplete.AddressRequest) call {
	return func(ctx context.Context, c *autocomplete.Client, form service.Form) (*autocomplete.Envelope, error) {
		return head(c.Address(ctx, req, form))
	}
}

func byFreeForm(req autocomplete.FreeFormRequest) call {
	return func(ctx context.Context, c *autocomplete.Client, form service.Form) (*autocomplete.Envelope, error) {
		return head(c.FreeForm(ctx, req, form))
	}
}

func byLocality(req autocomplete.LocalityRequest) call {
	return func(ctx context.Context, c *autocomplete.Client, form service.Form) (*autocomplete.Envelope, error) {
		return head(c.LocalityAdministrativeArea(ctx, req, form))
	}
}

func byPostalCode(req autocomplete.PostalCodeRequest) call {
	return func(ctx context.Context, c *autocomplete.Client, form service.Form) (*autocomplete.Envelope, error) {
		return head(c.PostalCode(ctx, req, form))
	}
}

func byThoroughfare(req autocomplete.ThoroughfareRequest) call {
	return func(ctx context.Context, c *autocomplete.Client, form service.Form) (*autocomplete.Envelope, error) {
		return head(c.Thoroughfare(ctx, req, form))
	}
}

func byCountry(term string) call {
	return func(ctx context.Context, c *autocomplete.Client, form service.Form) (*autocomplete.Envelope, error) {
		r, err := c.Country(ctx, term, form)
		if r == nil {
			return nil, err
		}
		return &r.Envelope, err
	}
}

func calls() map[string]call {
	common := autocomplete.Common{MaxRecords: 100, DiacriticReplace: service.True}
	details := autocomplete.Details{
		Columns: service.List{"gbextras", "results"}, Options: service.List{autocomplete.POBoxes}, SuiteCompression: service.False,
	}
	return map[string]call{
		"Address": byAddress(autocomplete.AddressRequest{
			Country: "us", Address1: "12 Larkspur Way", Address2: "Rear & Side", Locality: "Elmstead", AdministrativeArea: "KS", PostalCode: "66999",
			Common: common, NativeCharset: "false", Details: details,
		}),
		"Country": byCountry("land"),
		"FreeForm": byFreeForm(autocomplete.FreeFormRequest{
			FreeForm: "12 larksp elmstead", Common: common, NativeCharset: service.True, Details: details,
			FilterTerm: "latlong", FilterList: "38.1,-97.5", SortType: "distance",
		}),
		"LocalityAdministrativeArea": byLocality(autocomplete.LocalityRequest{
			Locality: "Elm", AdministrativeArea: "KS", PostalCode: "66999", Common: common, NativeCharset: service.False,
		}),
		"PostalCode":   byPostalCode(autocomplete.PostalCodeRequest{Country: "Österreich", PostalCode: "1010", Common: common}),
		"Thoroughfare": byThoroughfare(autocomplete.ThoroughfareRequest{PostalCode: "66999", Thoroughfare: "Lar", Common: common}),
	}
}

const (
	found      = `{"Version":"9","ResultCode":"XS01","ErrorString":"","Results":[],"Elapsed":7}`
	foundInXML = `<R><Version>9</Version><ResultCode>XS01</ResultCode><Results/><Elapsed>7</Elapsed></R>`
)

func TestRequestsMatchGoldenFiles(t *testing.T) {
	forms := map[string]struct {
		form   service.Form
		answer string
	}{
		"json":     {service.Form{}, found},
		"xml":      {service.Form{Method: "GET", Format: "XML"}, foundInXML},
		"jsonp":    {service.Form{JSONP: true}, `{"d":` + found + `}`},
		"callback": {service.Form{JSONP: true, Callback: "cb7"}, `cb7(` + found + `);`},
	}
	for operation, do := range calls() {
		for kind, test := range forms {
			t.Run(operation+"_"+kind, func(t *testing.T) {
				server := servicetest.Serve(t, 0, test.answer)
				response, err := do(t.Context(), client(server), test.form)
				if err != nil {
					t.Fatal(err)
				}
				server.Golden(t, operation+"_"+kind)
				if !response.ResultCode.Has("XS01") || response.Unknown.Text("Elapsed") != "7" || string(response.Raw) != test.answer {
					t.Errorf("response %+v", response)
				}
			})
		}
	}
}

// The free-form search takes parameters that are not described.
func TestFreeFormSendsExtraParameters(t *testing.T) {
	server := servicetest.Serve(t, 0, found)
	form := service.Form{Extra: url.Values{"listwhite": {"66999"}, "filterstate": {"KS"}}}
	if _, err := byFreeForm(autocomplete.FreeFormRequest{FreeForm: "12 larksp"})(t.Context(), client(server), form); err != nil {
		t.Fatal(err)
	}
	server.Golden(t, "FreeForm_extra")
}

func TestInvalidInputIsRefused(t *testing.T) {
	tests := map[string]struct {
		do   call
		form service.Form
		want string
	}{
		"no street line":     {byAddress(autocomplete.AddressRequest{Locality: "Elmstead"}), service.Form{}, "missing address1 ("},
		"no text":            {byFreeForm(autocomplete.FreeFormRequest{FreeForm: "  "}), service.Form{}, "missing ff ("},
		"no postal code":     {byPostalCode(autocomplete.PostalCodeRequest{}), service.Form{}, "missing postalcode ("},
		"no term":            {byCountry(""), service.Form{}, "missing country ("},
		"no street, no code": {byThoroughfare(autocomplete.ThoroughfareRequest{}), service.Form{}, "needs any one of: thoroughfare, postalcode"},
		"short street":       {byThoroughfare(autocomplete.ThoroughfareRequest{Thoroughfare: "La ", PostalCode: "66999"}), service.Form{}, "thoroughfare needs at least 3 characters"},
		"too many":           {byPostalCode(autocomplete.PostalCodeRequest{PostalCode: "66999", Common: autocomplete.Common{MaxRecords: 101}}), service.Form{}, "maxrecords must be a whole number from 1 to 100"},
		"negative count":     {byPostalCode(autocomplete.PostalCodeRequest{PostalCode: "66999", Common: autocomplete.Common{MaxRecords: -1}}), service.Form{}, "maxrecords must be"},
		"truth":              {byPostalCode(autocomplete.PostalCodeRequest{PostalCode: "66999", Common: autocomplete.Common{DiacriticReplace: "yes"}}), service.Form{}, "diacriticreplace must be one of True, False"},
		"option":             {byAddress(autocomplete.AddressRequest{Address1: "12", Details: autocomplete.Details{Options: service.List{"boats:true"}}}), service.Form{}, "opt must be a list of poboxes:true|false"},
		"POST":               {byCountry("land"), service.Form{Method: "POST"}, "cannot be called with POST: use GET"},
		"XML with JSONP":     {byCountry("land"), service.Form{JSONP: true, Format: service.FormatXML}, "JSONP answers are JSON only"},
		"callback":           {byCountry("land"), service.Form{JSONP: true, Callback: "alert(1)"}, "must be the name of a function"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, 0, found)
			_, err := test.do(t.Context(), client(server), test.form)
			server.CheckRefused(t, err, test.want)
		})
	}
}

func TestCodesDecideSuccess(t *testing.T) {
	tests := map[string]struct {
		answer, want string // of the error; "" for none
		codes        service.Codes
	}{
		"complete":         {`{"ResultCode":"XS01","Results":[]}`, "", service.Codes{"XS01"}},
		"no match":         {`{"ResultCode":"XS03","ErrorString":"","Results":[]}`, "", service.Codes{"XS03"}},
		"no match at all":  {`{"ResultCode":"XS03","Results":null}`, "", service.Codes{"XS03"}},
		"warning":          {`{"ResultCode":"XS02,GW01","ErrorString":"The key expires.","Results":[]}`, "", service.Codes{"XS02", "GW01"}},
		"warning alone":    {`{"ResultCode":"GW10","ErrorString":"Column?","Results":[]}`, "", service.Codes{"GW10"}},
		"not known":        {`{"ResultCode":"XX99","Results":[]}`, "", service.Codes{"XX99"}},
		"no code":          {`{"Results":[]}`, "", nil},
		"body null":        {`null`, "", nil},
		"customer":         {`{"ResultCode":"GE09","ErrorString":"Who?","Results":[]}`, "autocomplete GlobalExpressPostalCode: GE09 (unknown customer): Who?", service.Codes{"GE09"}},
		"internal":         {`{"ResultCode":"SE01","ErrorString":"","Results":null}`, "SE01", service.Codes{"SE01"}},
		"among successful": {`{"ResultCode":"XS01,GE08","Results":[]}`, "GE08", service.Codes{"XS01", "GE08"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, 0, test.answer)
			response, err := client(server).PostalCode(t.Context(), autocomplete.PostalCodeRequest{PostalCode: "66999"}, service.Form{})
			if response == nil || !slices.Equal(response.ResultCode, test.codes) {
				t.Errorf("response %+v", response)
			}
			if _, ok := errors.AsType[*service.AnswerError](err); ok != (test.want != "") || test.want == "" && err != nil || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestUnexpectedAnswersAreRefused(t *testing.T) {
	tests := map[string]struct {
		status       int
		answer, want string
		form         service.Form
	}{
		"web page for XML":   {200, `<html>sign in</html>`, "web page", service.Form{Format: "xml"}},
		"web page for JSONP": {200, `<html>sign in</html>`, "a web page instead of data", service.Form{JSONP: true}},
		"list":               {200, `[]`, "unexpected response shape", service.Form{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, test.status, test.answer)
			response, err := byPostalCode(autocomplete.PostalCodeRequest{PostalCode: "66999"})(t.Context(), client(server), test.form)
			if response != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %+v, %v, want %q", response, err, test.want)
			}
		})
	}
}
