package reversegeo_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"syncd/internal/clients/reversegeo"
	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
)

const empty = `{"Version":"8.3.0.9001","TransmissionReference":"","TransmissionResults":"","Results":"","TotalRecords":0,"Records":[]}`

func client(server *servicetest.Server) *reversegeo.Client {
	return &reversegeo.Client{Client: server.Client("reversegeo", "/v3/web/ReverseGeoCode", "Acme")}
}

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
		"lookup_get":         lookUp(near, servicetest.Get),
		"lookup_get_xml":     lookUp(near, servicetest.GetXML),
		"lookup_post":        lookUp(near, servicetest.Post),
		"lookup_post_xml":    lookUp(near, servicetest.PostXML),
		"lookup_no_form":     lookUp(reversegeo.DoLookup{Point: &service.Point{}}, service.Form{}),
		"postal_get":         postal(codes, servicetest.Get),
		"postal_get_xml":     postal(codes, servicetest.GetXML),
		"postal_post":        postal(codes, servicetest.Post),
		"postal_post_xml":    postal(codes, servicetest.PostXML),
		"from_list_point":    fromList(fromPoint, servicetest.Post),
		"from_list_key":      fromList(fromKey, service.Form{}),
		"from_list_key_near": fromList(reversegeo.DoLookupFromList{AddressKey: "1", Bounds: bounds, Records: depots[:1]}, servicetest.Post),
	}
}

func TestRequestsMatchGoldenFiles(t *testing.T) {
	servicetest.Goldens(t, client, empty, calls())
}

func TestInvalidInputIsRefused(t *testing.T) {
	near := func(change func(*reversegeo.DoLookup)) reversegeo.DoLookup {
		req := reversegeo.DoLookup{Point: here}
		change(&req)
		return req
	}
	servicetest.CheckInvalid(t, client, map[string]servicetest.Invalid[*reversegeo.Client]{
		"no point":             {lookUp(reversegeo.DoLookup{}, servicetest.Get), "missing lat ("},
		"no point, POST":       {postal(reversegeo.DoLookupPostalCodes{}, servicetest.Post), "missing Latitude ("},
		"beyond the pole":      {lookUp(reversegeo.DoLookup{Point: &service.Point{Latitude: -90.1}}, servicetest.Get), "lat must be a number from -90 to 90"},
		"beyond the date line": {lookUp(reversegeo.DoLookup{Point: &service.Point{Longitude: 180.5}}, servicetest.Post), "Longitude must be a number from -180 to 180"},
		"not a number":         {lookUp(reversegeo.DoLookup{Point: &service.Point{Latitude: service.Decimal(math.NaN())}}, servicetest.Get), "not a finite number"},
		"too far":              {lookUp(near(func(r *reversegeo.DoLookup) { r.MaxDistance = 10.5 }), servicetest.Get), "dist must be a number from 0 to 10"},
		"negative distance":    {lookUp(near(func(r *reversegeo.DoLookup) { r.MaxDistance = -1 }), servicetest.Post), "MaxDistance must be a number from 0 to 10"},
		"too many records":     {lookUp(near(func(r *reversegeo.DoLookup) { r.MaxRecords = 101 }), servicetest.Get), "recs must be a whole number from 1 to 100"},
		"negative count":       {lookUp(near(func(r *reversegeo.DoLookup) { r.MaxRecords = -1 }), servicetest.Post), "MaxRecords must be a whole number from 1 to 100"},
		"option of another": {
			lookUp(near(func(r *reversegeo.DoLookup) { r.Options = service.List{"Level:Plus4"} }), servicetest.Get),
			"opt must be a list of IncludeApartments:On|Off, IncludeEmptyLots:On|Off, IncludeUndeliverable:On|Off",
		},
		"option's value":      {postal(reversegeo.DoLookupPostalCodes{Point: here, Options: service.List{"Level:Street"}}, servicetest.Post), "Options Level must be one of PostalCode, CarrierRoute, Plus4"},
		"option has no value": {lookUp(near(func(r *reversegeo.DoLookup) { r.Options = service.List{"IncludeEmptyLots:"} }), servicetest.Get), "IncludeEmptyLots has no value"},
		"no origin":           {fromList(reversegeo.DoLookupFromList{Records: depots}, servicetest.Post), "needs any one of: Latitude+Longitude, AcmeAddressKey"},
		"two origins":         {fromList(reversegeo.DoLookupFromList{Point: here, AddressKey: "44", Records: depots}, servicetest.Post), "takes only one of: Latitude+Longitude, AcmeAddressKey"},
		"no targets":          {fromList(reversegeo.DoLookupFromList{Point: here}, servicetest.Post), "missing Records ("},
		"too many targets":    {fromList(reversegeo.DoLookupFromList{Point: here, Records: slices.Repeat(depots, 51)}, servicetest.Post), "Records has 102 items, at most 100 may be sent"},
		"target without key":  {fromList(reversegeo.DoLookupFromList{Point: here, Records: []reversegeo.Target{depots[0], {RecordID: "b"}}}, servicetest.Post), "missing Records.AcmeAddressKey ("},
		"target without id":   {fromList(reversegeo.DoLookupFromList{Point: here, Records: []reversegeo.Target{{AddressKey: "44"}}}, servicetest.Post), "missing Records.RecordID ("},
		"no GET form":         {fromList(reversegeo.DoLookupFromList{Point: here, Records: depots}, servicetest.Get), "cannot be called with GET: use POST"},
		"no XML form":         {fromList(reversegeo.DoLookupFromList{Point: here, Records: depots}, servicetest.PostXML), "format xml must be one of json"},
	})
}

// The key of the origin and the key of a target have the same name. The target's
// key is given with the name of its list.
func TestArgumentsFillTheSameBodies(t *testing.T) {
	servicetest.CheckArguments(t, reversegeo.Operations(), map[string]servicetest.Arguments{
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
	})
}

// An error code about the request is an error. The response is returned too.
func TestErrorCodeIsAnErrorWithResponse(t *testing.T) {
	const answer = `{"TransmissionReference":"rg-1","TransmissionResults":"GE05","Results":"","TotalRecords":0,"Records":null}`
	check := func(t *testing.T, response *reversegeo.Envelope, err error, want string) {
		if _, ok := errors.AsType[*service.AnswerError](err); !ok || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if !response.TransmissionResults.Has("GE05") || response.TransmissionReference != "rg-1" || string(response.Raw) != answer {
			t.Errorf("response %+v", response)
		}
	}
	c := client(servicetest.Serve(t, 0, answer))
	near, err := c.DoLookup(t.Context(), reversegeo.DoLookup{Point: here}, servicetest.Get)
	check(t, &near.Envelope, err, "reversegeo doLookup: GE05 (invalid Customer ID)")
	codes, err := c.DoLookupPostalCodes(t.Context(), reversegeo.DoLookupPostalCodes{Point: here}, servicetest.Post)
	check(t, &codes.Envelope, err, "reversegeo doLookupPostalCodes: GE05 (invalid Customer ID)")
	targets, err := c.DoLookupFromList(t.Context(), reversegeo.DoLookupFromList{Point: here, Records: depots}, servicetest.Post)
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
			response, err := client(servicetest.Serve(t, 0, answer)).DoLookup(t.Context(), reversegeo.DoLookup{Point: here}, servicetest.Get)
			if err != nil || len(response.Records) > 0 || string(response.Raw) != answer {
				t.Errorf("%d records, error %v", len(response.Records), err)
			}
		})
	}
}
