package reversegeo_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"syncd/internal/clients/reversegeo"
	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
)

const empty = `{"Version":"8.3.0.9001","TransmissionReference":"","TransmissionResults":"","Results":"","TotalRecords":0,"Records":[]}`

var (
	get     = service.Form{Method: "GET"}
	getXML  = service.Form{Method: "GET", Format: service.FormatXML}
	post    = service.Form{Method: "POST"}
	postXML = service.Form{Method: "POST", Format: service.FormatXML}
)

func client(server *servicetest.Server) *reversegeo.Client {
	return &reversegeo.Client{Client: server.Client("reversegeo", "/v3/web/ReverseGeoCode", "Acme")}
}

// call calls one operation in one form.
type call = func(context.Context, *reversegeo.Client) error

// These call one operation each.
var (
	lookUp   = servicetest.Call((*reversegeo.Client).DoLookup)
	postal   = servicetest.Call((*reversegeo.Client).DoLookupPostalCodes)
	fromList = servicetest.Call((*reversegeo.Client).DoLookupFromList)
)

var (
	here   = &service.Point{Latitude: 38.1042, Longitude: -97.5518}
	bounds = reversegeo.Bounds{TransmissionReference: "rg-1", MaxDistance: 2.5, MaxRecords: 1}
	depots = []reversegeo.Target{{AddressKey: "4400112299", RecordID: "depot-a"}, {AddressKey: "4400113355", RecordID: "depot-b"}}
)

func calls() map[string]call {
	near := reversegeo.DoLookup{Point: here, Bounds: bounds, Options: service.List{"includeapartments:on", "IncludeEmptyLots:Off", "IncludeUndeliverable:Off"}}
	codes := reversegeo.DoLookupPostalCodes{Point: here, Bounds: bounds, Options: service.List{"Level:plus4"}}
	fromPoint := reversegeo.DoLookupFromList{Point: here, Bounds: bounds, Options: service.List{"IncludeApartments:On"}, Records: depots}
	fromKey := reversegeo.DoLookupFromList{AddressKey: "4400112233", Records: depots}
	return map[string]call{
		"lookup_get":         lookUp(near, get),
		"lookup_get_xml":     lookUp(near, getXML),
		"lookup_post":        lookUp(near, post),
		"lookup_post_xml":    lookUp(near, postXML),
		"lookup_no_form":     lookUp(reversegeo.DoLookup{Point: &service.Point{}}, service.Form{}),
		"postal_get":         postal(codes, get),
		"postal_get_xml":     postal(codes, getXML),
		"postal_post":        postal(codes, post),
		"postal_post_xml":    postal(codes, postXML),
		"from_list_point":    fromList(fromPoint, post),
		"from_list_key":      fromList(fromKey, service.Form{}),
		"from_list_key_near": fromList(reversegeo.DoLookupFromList{AddressKey: "1", Bounds: bounds, Records: depots[:1]}, post),
	}
}

func TestRequestsMatchGoldenFiles(t *testing.T) {
	for name, do := range calls() {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, 0, empty)
			if err := do(t.Context(), client(server)); err != nil {
				t.Fatal(err)
			}
			server.Golden(t, name)
		})
	}
}

func TestInvalidInputIsRefused(t *testing.T) {
	near := func(change func(*reversegeo.DoLookup)) reversegeo.DoLookup {
		req := reversegeo.DoLookup{Point: here}
		change(&req)
		return req
	}
	tests := map[string]struct {
		do   call
		want string
	}{
		"no point":             {lookUp(reversegeo.DoLookup{}, get), "missing lat ("},
		"no point, POST":       {postal(reversegeo.DoLookupPostalCodes{}, post), "missing Latitude ("},
		"beyond the pole":      {lookUp(reversegeo.DoLookup{Point: &service.Point{Latitude: -90.1}}, get), "lat must be a number from -90 to 90"},
		"beyond the date line": {lookUp(reversegeo.DoLookup{Point: &service.Point{Longitude: 180.5}}, post), "Longitude must be a number from -180 to 180"},
		"not a number":         {lookUp(reversegeo.DoLookup{Point: &service.Point{Latitude: service.Decimal(math.NaN())}}, get), "not a finite number"},
		"too far":              {lookUp(near(func(r *reversegeo.DoLookup) { r.MaxDistance = 10.5 }), get), "dist must be a number from 0 to 10"},
		"negative distance":    {lookUp(near(func(r *reversegeo.DoLookup) { r.MaxDistance = -1 }), post), "MaxDistance must be a number from 0 to 10"},
		"too many records":     {lookUp(near(func(r *reversegeo.DoLookup) { r.MaxRecords = 101 }), get), "recs must be a whole number from 1 to 100"},
		"negative count":       {lookUp(near(func(r *reversegeo.DoLookup) { r.MaxRecords = -1 }), post), "MaxRecords must be a whole number from 1 to 100"},
		"option of another": {
			lookUp(near(func(r *reversegeo.DoLookup) { r.Options = service.List{"Level:Plus4"} }), get),
			"opt must be a list of IncludeApartments:On|Off, IncludeEmptyLots:On|Off, IncludeUndeliverable:On|Off",
		},
		"option's value":      {postal(reversegeo.DoLookupPostalCodes{Point: here, Options: service.List{"Level:Street"}}, post), "Options Level must be one of PostalCode, CarrierRoute, Plus4"},
		"option has no value": {lookUp(near(func(r *reversegeo.DoLookup) { r.Options = service.List{"IncludeEmptyLots:"} }), get), "IncludeEmptyLots has no value"},
		"no origin":           {fromList(reversegeo.DoLookupFromList{Records: depots}, post), "needs any one of: Latitude+Longitude, AcmeAddressKey"},
		"two origins":         {fromList(reversegeo.DoLookupFromList{Point: here, AddressKey: "44", Records: depots}, post), "takes only one of: Latitude+Longitude, AcmeAddressKey"},
		"no targets":          {fromList(reversegeo.DoLookupFromList{Point: here}, post), "missing Records ("},
		"too many targets":    {fromList(reversegeo.DoLookupFromList{Point: here, Records: slices.Repeat(depots, 51)}, post), "Records has 102 items, at most 100 may be sent"},
		"target without key":  {fromList(reversegeo.DoLookupFromList{Point: here, Records: []reversegeo.Target{depots[0], {RecordID: "b"}}}, post), "missing Records.AcmeAddressKey ("},
		"target without id":   {fromList(reversegeo.DoLookupFromList{Point: here, Records: []reversegeo.Target{{AddressKey: "44"}}}, post), "missing Records.RecordID ("},
		"no GET form":         {fromList(reversegeo.DoLookupFromList{Point: here, Records: depots}, get), "cannot be called with GET: use POST"},
		"no XML form":         {fromList(reversegeo.DoLookupFromList{Point: here, Records: depots}, postXML), "format xml must be one of json"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, 0, empty)
			err := test.do(t.Context(), client(server))
			var input *service.InputError
			if !errors.As(err, &input) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an input error with %q", err, test.want)
			}
			if requests := server.Requests(); len(requests) > 0 {
				t.Errorf("sent %v", requests)
			}
		})
	}
}

// The key of the origin and the key of a target have the same name. The target's
// key is given with the name of its list.
func TestArgumentsFillTheSameBodies(t *testing.T) {
	tests := map[string]struct {
		operation, method, want string
		args                    []string
	}{
		"GET":    {"doLookup", "GET", `[{Latitude 38.1} {Longitude -97.5} {MaxDistance 2}]`, []string{"lat=38.1", "long=-97.5", "dist=2"}},
		"POST":   {"doLookup", "POST", `[{Latitude 38.1} {Longitude -97.5} {MaxRecords 3}]`, []string{"latitude=38.1", "Longitude=-97.5", "MaxRecords=3"}},
		"option": {"doLookupPostalCodes", "GET", `{Options Level:Plus4}`, []string{"lat=38.1", "long=-97.5", "opt=Level:Plus4"}},
		"list": {
			"doLookupFromList", "POST", `[{{Prefix}AddressKey 4400112233} {Records [[{{Prefix}AddressKey 44} {RecordID a}] [{{Prefix}AddressKey 45} {RecordID b}]]}]`,
			[]string{"AcmeAddressKey=4400112233", "Records.AcmeAddressKey=44", "RecordID=a", "Records.AcmeAddressKey=45", "RecordID=b"},
		},
		"list, as JSON": {
			"doLookupFromList", "POST", `{Records [[{AcmeAddressKey 44} {RecordID a}]]}`,
			[]string{"AcmeAddressKey=4400112233", `Records=[{"AcmeAddressKey":"44","RecordID":"a"}]`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			op := operation(t, test.operation)
			body, _, err := op.Arguments(test.method, "Acme", nil, test.args)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(body); !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s in it", got, test.want)
			}
			if _, err := op.Check(service.Form{Method: test.method}, body, "Acme"); err != nil {
				t.Error(err)
			}
		})
	}
}

func operation(t *testing.T, name string) *service.Operation {
	t.Helper()
	for _, op := range reversegeo.Operations() {
		if op.Name == name {
			return op
		}
	}
	t.Fatalf("no operation %s", name)
	return nil
}

// An error code about the request is an error. The response is returned too.
func TestErrorCodeIsAnErrorWithResponse(t *testing.T) {
	const answer = `{"TransmissionReference":"rg-1","TransmissionResults":"GE05","Results":"","TotalRecords":0,"Records":null}`
	check := func(t *testing.T, response *reversegeo.Envelope, err error, want string) {
		var refused *service.AnswerError
		if !errors.As(err, &refused) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if !response.TransmissionResults.Has("GE05") || response.TransmissionReference != "rg-1" || string(response.Raw) != answer {
			t.Errorf("response %+v", response)
		}
	}
	c := client(servicetest.Serve(t, 0, answer))
	near, err := c.DoLookup(t.Context(), reversegeo.DoLookup{Point: here}, get)
	check(t, &near.Envelope, err, "reversegeo doLookup: GE05 (invalid Customer ID)")
	codes, err := c.DoLookupPostalCodes(t.Context(), reversegeo.DoLookupPostalCodes{Point: here}, post)
	check(t, &codes.Envelope, err, "reversegeo doLookupPostalCodes: GE05 (invalid Customer ID)")
	targets, err := c.DoLookupFromList(t.Context(), reversegeo.DoLookupFromList{Point: here, Records: depots}, post)
	check(t, &targets.Envelope, err, "reversegeo doLookupFromList: GE05 (invalid Customer ID)")
}

// Warnings, unknown codes and answers without records are not errors.
func TestWarningsAndEmptyAnswersAreNoErrors(t *testing.T) {
	for name, answer := range map[string]string{
		"warning":      `{"TransmissionResults":"GW01","Results":"GS07","TotalRecords":0,"Records":[]}`,
		"unknown code": servicetest.Fixture(t, "nothing.json"),
		"no list":      `{"TransmissionResults":"","TotalRecords":0}`,
	} {
		t.Run(name, func(t *testing.T) {
			response, err := client(servicetest.Serve(t, 0, answer)).DoLookup(t.Context(), reversegeo.DoLookup{Point: here}, get)
			if err != nil || len(response.Records) > 0 || string(response.Raw) != answer {
				t.Errorf("%d records, error %v", len(response.Records), err)
			}
		})
	}
}
