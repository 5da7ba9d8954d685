package service_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
	"syncd/internal/clients/transport"
	"syncd/internal/manifest/refusal"
)

// submit is an operation that changes something at the provider.
var submit = &service.Operation{
	Name: "submit", Methods: service.GetPost, Formats: []string{service.FormatJSON}, Success: []service.Code{"MS01"}, Writes: true,
	Fields: service.Fields{Inputs: []service.Input{
		{Name: "CustomerID", Kind: service.Identity},
		{Name: "{Prefix}AddressKey", Query: "mak", Kind: service.Key, Required: true},
		{Name: "Current", Kind: service.Pairs, Fields: service.Fields{Inputs: []service.Input{{Name: "City", Kind: service.Blank}, {Name: "State", Kind: service.Blank}}}},
	}},
}

// A member given twice is refused, and no member of a body is dropped. Otherwise
// a call could remove another address, or pay for a list without its filter.
func TestArgumentsAddToABody(t *testing.T) {
	tests := map[string]struct {
		op   *service.Operation
		body string
		args []string
		want string // of the error, or what is sent
	}{
		"key by both":         {submit, `{"AcmeAddressKey":"111"}`, []string{"AcmeAddressKey=222"}, "is given twice"},
		"two spellings":       {submit, `{"AcmeAddressKey":"111","acmeaddresskey":"333"}`, nil, "is given twice"},
		"deep":                {lookup, `{"Records":[{"AcmeAddressKey":"1","acmeADDRESSkey":"2"}]}`, nil, "is given twice"},
		"record as an object": {lookup, `{"Records":{"AcmeAddressKey":"1"}}`, []string{"AddressLine1=x"}, `"Records":[{"AddressLine1":"x","AcmeAddressKey":"1"}]`},
		"pair as an object":   {submit, `{"AcmeAddressKey":"5","Current":{"Key":"City","Value":"A"}}`, []string{"Current.State=KS"}, `"Current":[{"Key":"City","Value":"A"},{"Key":"State","Value":"KS"}]`},
		"object as a list":    {search, `{"Includes":[{"Zips":["66999"]}],"Columns":"City"}`, []string{"Includes.NonUSPS=true"}, "that is not an object"},
		"blank in a list":     {search, `{"Includes":{"ShapeWKTs":[""]},"Columns":["City"]}`, nil, "needs any one of"},
		"blank columns":       {search, `{"Includes":{"Zips":[{"Zip":"1"}]},"Columns":[" "]}`, nil, "missing Columns ("},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			body, err := test.op.ReadBody([]byte(test.body))
			must(t, err)
			members, _, err := test.op.Arguments("POST", "Acme", body, test.args)
			var call *service.Call
			if err == nil {
				call, err = test.op.Check(service.Form{Method: "POST", Lenient: true}, members, "Acme")
			}
			server := servicetest.Serve(t, 0, `{"Results":"MS01"}`)
			if err == nil {
				_, err = server.Client("test", "", "Acme").Send(t.Context(), call)
			}
			got := strings.Join(server.Requests(), "")
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestXMLRefusesInvalidNamesAndTexts(t *testing.T) {
	for name, body := range map[string]string{
		"element in a name": `{"Records":[{"AcmeAddressKey":"1","x><CustomerId>evil</CustomerId><y":"1"}]}`,
		"space in a name":   `{"Records":[{"AcmeAddressKey":"1"}],"a b":1}`,
		"empty name":        `{"Records":[{"AcmeAddressKey":"1"}],"":1}`,
		"control character": `{"Records":[{"AcmeAddressKey":"1","AddressLine1":"\u0001"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			members, err := lookup.ReadBody([]byte(body))
			must(t, err)
			call, err := lookup.Check(service.Form{Method: "POST", Format: service.FormatXML, Lenient: true}, members, "Acme")
			must(t, err)
			server := servicetest.Serve(t, 0, "")
			_, err = server.Client("test", "", "Acme").Send(t.Context(), call)
			if _, ok := errors.AsType[*service.InputError](err); !ok || len(server.Requests()) > 0 {
				t.Errorf("got %v, sent %v", err, server.Requests())
			}
		})
	}
}

func send(t *testing.T, server *servicetest.Server, form service.Form) (*service.Answer, error) {
	t.Helper()
	members, _, err := submit.Arguments("GET", "Acme", nil, []string{"mak=1"})
	must(t, err)
	call, err := submit.Check(form, members, "Acme")
	must(t, err)
	return server.Client("test", "", "Acme").Send(t.Context(), call)
}

// Codes come as a text with commas, semicolons or space, as a list, or in several
// members.
func TestErrorCodesInAnyShapeAreErrors(t *testing.T) {
	for _, answer := range []string{
		`{"Results":["MS01","GE05"]}`, `{"TransmissionResults":["SE01"],"Results":"MS01"}`, `{"Results":"MS01","results":"GE05"}`,
		`{"Results":"MS01;ge05"}`, `{"Results":"MS01 GE05"}`, `{"ResultCode":"GE14","Results":"MS01"}`,
	} {
		var failed *service.AnswerError
		if _, err := send(t, servicetest.Serve(t, 0, answer), service.Form{}); !errors.As(err, &failed) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// An error shows a code without control characters, and at most one line of it.
func TestErrorsArePrintable(t *testing.T) {
	_, err := send(t, servicetest.Serve(t, 0, `{"Results":"SE01\u001b]0;x\u0007\u202e`+strings.Repeat("x", 1<<20)+`"}`), service.Form{})
	if err == nil || len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\x1b\x07\u202e") {
		t.Errorf("%d bytes: %.200q", len(err.Error()), err)
	}
}

// A submission is sent once. Without an answer, the error says that it may have
// been accepted.
func TestSubmissionsAreNeverRetried(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		server := servicetest.Serve(t, http.StatusServiceUnavailable, "")
		_, err := send(t, server, service.Form{Method: method})
		if !transport.IsTransient(err) || !strings.Contains(err.Error(), "may have been accepted") || len(server.Requests()) != 1 {
			t.Errorf("%s: %d requests, %v", method, len(server.Requests()), err)
		}
	}
}

func TestPagesAndErrorsAreNoTexts(t *testing.T) {
	hash := &service.Operation{Name: "SHA256/Data", Methods: service.GetOnly, Formats: []string{service.FormatJSON}, AnyShape: true}
	for name, answer := range map[string]string{
		"page": "\n<!DOCTYPE html><html></html>", "problem": `{"type":"t","title":"No such file.","status":404}`,
	} {
		call, err := hash.Check(service.Form{}, nil, "Acme")
		must(t, err)
		_, err = servicetest.Serve(t, 0, answer).Client("releases", "", "Acme").Send(t.Context(), call)
		if refusal.ReasonOf(err) != refusal.BadShape {
			t.Errorf("%s: %v", name, err)
		}
	}
}
