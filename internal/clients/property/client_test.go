package property_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"syncd/internal/clients/property"
	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
	"syncd/internal/clients/transport"
)

const empty = `{"Version":"9.4.2.9001","TransmissionReference":"","TransmissionResults":"","Results":"","TotalRecords":0,"Records":[]}`

func client(server *servicetest.Server) *property.Client {
	return &property.Client{Client: server.Client("property", "/v4/WEB", "Acme")}
}

type call = func(context.Context, *property.Client) error

// These call one operation each.
var (
	lookUp = servicetest.Call((*property.Client).LookupProperty)
	deeds  = servicetest.Call((*property.Client).LookupDeeds)
	homes  = servicetest.Call((*property.Client).LookupHomesByOwner)
)

// one returns a request for a single property.
func one(r property.Record) property.LookupProperty {
	return property.LookupProperty{Records: []property.Record{r}}
}

func calls() map[string]call {
	all := property.Record{
		AddressLine1: "12 Larkspur Way", AddressLine2: "Rear", City: "Elmstead", State: "KS", PostalCode: "66999",
		MAK: "4400112233", FIPS: "20999", APN: "14-220-07", FreeForm: "12 Larkspur Way & Rear, Elmstead KS", AddressKey: "66999120512",
		Account: "A-100007", Country: "us",
	}
	full := one(all)
	full.TransmissionReference, full.Columns, full.Options = "p-2", service.List{"GrpParcel", "GrpPrimaryOwner"}, service.List{"desc:On", "LatestMortgage:off"}
	batch := full
	all.RecordID = "a"
	batch.Records = []property.Record{all, {RecordID: "b", FIPS: "20999", Account: "A-100009"}}
	deed := property.LookupDeeds{
		TransmissionReference: "p-1", Columns: service.List{"GrpAll"}, Options: service.List{"page:1", "RecordsPerPage:10"},
		PropertyMAK: "4400112233", FIPS: "20999", APN: "14-220-07", FreeForm: "12 Larkspur Way, 66999", TransactionID: "t-9",
	}
	home := property.LookupHomesByOwner{TransmissionReference: "p-4", OwnerMAK: "4400112233", FreeForm: "12 Larkspur Way, 66999"}
	named := one(property.Record{RecordID: "a", FreeForm: "12 Larkspur Way, 66999"})
	return map[string]call{
		"property_get":      lookUp(full, servicetest.Get),
		"property_get_xml":  lookUp(full, servicetest.GetXML),
		"property_post":     lookUp(batch, servicetest.Post),
		"property_post_xml": lookUp(batch, servicetest.PostXML),
		"property_no_form":  lookUp(one(property.Record{AddressKey: "66999120512"}), service.Form{}),
		// GET has no parameter for a RecordID, so POST is chosen.
		"property_no_form_batch": lookUp(batch, service.Form{}),
		"property_no_form_id":    lookUp(named, service.Form{}),
		"deeds_get":              deeds(deed, servicetest.Get),
		"deeds_get_xml":          deeds(deed, servicetest.GetXML),
		"deeds_post":             deeds(deed, servicetest.Post),
		"deeds_post_xml":         deeds(deed, servicetest.PostXML),
		"homes_get":              homes(home, servicetest.Get),
		"homes_get_xml":          homes(home, servicetest.GetXML),
		"homes_post":             homes(home, servicetest.Post),
		"homes_post_xml":         homes(home, servicetest.PostXML),
	}
}

func TestRequestsMatchGoldenFiles(t *testing.T) {
	servicetest.Goldens(t, client, empty, calls())
}

func TestInvalidInputIsRefused(t *testing.T) {
	const sets = "needs any one of: addresskey, fips+apn, fips+account, mak, ff, a1+postal, a1+city+state"
	many := slices.Repeat([]property.Record{{MAK: "4400112233"}}, 101)
	servicetest.CheckInvalid(t, client, map[string]servicetest.Invalid[*property.Client]{
		"no property, GET":      {lookUp(property.LookupProperty{}, servicetest.Get), sets},
		"no property, POST":     {lookUp(property.LookupProperty{}, servicetest.Post), "Records needs any one of: AddressKey, FIPS+APN, FIPS+Account, MAK, FreeForm, AddressLine1+PostalCode, AddressLine1+City+State"},
		"county alone":          {lookUp(one(property.Record{FIPS: "20999"}), servicetest.Get), sets},
		"street alone":          {lookUp(one(property.Record{AddressLine1: "12 Larkspur Way"}), servicetest.Get), sets},
		"street and city":       {lookUp(one(property.Record{AddressLine1: "12 Larkspur Way", City: "Elmstead"}), servicetest.Get), sets},
		"blank":                 {lookUp(one(property.Record{FreeForm: "  "}), servicetest.Get), sets},
		"second of two":         {lookUp(property.LookupProperty{Records: []property.Record{{MAK: "44"}, {APN: "7"}}}, servicetest.Post), "item 2: Records needs any one of"},
		"two by GET":            {lookUp(property.LookupProperty{Records: many[:2]}, servicetest.Get), "GET carries one: use POST"},
		"too many":              {lookUp(property.LookupProperty{Records: many}, servicetest.Post), "Records has 101 items, at most 100 may be sent"},
		"RecordID by GET":       {lookUp(one(property.Record{RecordID: "a", MAK: "44"}), servicetest.Get), "RecordID cannot be sent with GET: use POST"},
		"short key":             {lookUp(one(property.Record{AddressKey: "6699912051"}), servicetest.Get), "addresskey must be a number of 11 digits"},
		"name for a key":        {lookUp(one(property.Record{MAK: "12 Larkspur Way"}), servicetest.Post), "Records.MAK must be a key of digits"},
		"county without zero":   {lookUp(one(property.Record{FIPS: "6037", APN: "7"}), servicetest.Get), "fips must be a number of 5 digits"},
		"other country":         {lookUp(one(property.Record{MAK: "44", Country: "CA"}), servicetest.Get), "ctry must be one of US"},
		"option":                {lookUp(property.LookupProperty{Options: service.List{"Page:1"}, Records: many[:1]}, servicetest.Get), "opt must be a list of Desc:on|off, LatestMortgage:On|Off"},
		"option's value":        {lookUp(property.LookupProperty{Options: service.List{"Desc:yes"}, Records: many[:1]}, servicetest.Post), "Options Desc must be one of on, off"},
		"no deed":               {deeds(property.LookupDeeds{}, servicetest.Get), "needs any one of: fips+apn, mak, ff"},
		"deprecated id alone":   {deeds(property.LookupDeeds{TransactionID: "t"}, servicetest.Get), "needs any one of: fips+apn, mak, ff"},
		"parcel without county": {deeds(property.LookupDeeds{APN: "14-220-07"}, servicetest.Post), "needs any one of: FIPS+APN, PropertyMAK, FreeForm"},
		"page 0":                {deeds(property.LookupDeeds{PropertyMAK: "44", Options: service.List{"Page:0"}}, servicetest.Get), "opt Page must be a whole number from 1"},
		"too many a page":       {deeds(property.LookupDeeds{PropertyMAK: "44", Options: service.List{"RecordsPerPage:101"}}, servicetest.Get), "opt RecordsPerPage must be a whole number from 0 to 100"},
		"no owner":              {homes(property.LookupHomesByOwner{}, servicetest.Get), "needs any one of: mak, ff"},
		"no owner, POST":        {homes(property.LookupHomesByOwner{}, servicetest.Post), "needs any one of: OwnerMAK, FreeForm"},
		"no JSONP form":         {homes(property.LookupHomesByOwner{OwnerMAK: "44"}, service.Form{JSONP: true}), "has no JSONP form"},
		"unknown format":        {homes(property.LookupHomesByOwner{OwnerMAK: "44"}, service.Form{Format: "csv"}), "must be one of json, xml"},
	})
}

// Arguments have GET names or POST names. Within a record, the last part of a
// name is enough.
func TestArgumentsFillTheSameBodies(t *testing.T) {
	servicetest.CheckArguments(t, property.Operations(), map[string]servicetest.Arguments{
		"GET": {"LookupProperty", "GET", `[{FIPS 20999} {APN 14-220-07}]`, []string{"fips=20999", "apn=14-220-07"}},
		"POST by last name": {
			"LookupProperty", "POST", `[{RecordID a} {AddressLine1 12 Larkspur Way} {PostalCode 66999}]`,
			[]string{"RecordID=a", "AddressLine1=12 Larkspur Way", "postalcode=66999"},
		},
		"POST by full name":    {"LookupProperty", "POST", `[{MAK 44}] [{MAK 45}]`, []string{"Records.MAK=44", "Records.MAK=45"}},
		"names of two records": {"LookupProperty", "POST", `[{MAK 44} {RecordID a}] [{MAK 45} {RecordID b}]`, []string{"MAK=44", "RecordID=a", "MAK=45", "RecordID=b"}},
		"GET, top":             {"LookupDeeds", "GET", `{PropertyMAK 44} {Options Page:2,RecordsPerPage:5}`, []string{"mak=44", "opt=Page:2,RecordsPerPage:5"}},
		"POST, top":            {"LookupDeeds", "POST", `{PropertyMAK 44} {Columns GrpDocInfo,GrpMortgage1}`, []string{"PropertyMAK=44", "Columns=GrpDocInfo,GrpMortgage1"}},
		"owner":                {"LookupHomesByOwner", "POST", `{OwnerMAK 44}`, []string{"OwnerMAK=44"}},
	})
}

// An error code about the request is an error in whichever member it is. The
// response is returned too.
func TestErrorCodeIsAnErrorWithResponse(t *testing.T) {
	t.Run("property", func(t *testing.T) {
		server := servicetest.Serve(t, 0, `{"TransmissionResults":"GW01,GE05","TransmissionReference":"p-2","TotalRecords":0,"Records":null}`)
		response, err := client(server).LookupProperty(t.Context(), one(property.Record{MAK: "44"}), servicetest.Get)
		checkRefused(t, err, "property LookupProperty: GE05 (invalid Customer ID)")
		if response == nil || !response.TransmissionResults.Has("GE05") || response.TransmissionReference != "p-2" {
			t.Errorf("response %+v", response)
		}
	})
	t.Run("deeds", func(t *testing.T) {
		server := servicetest.Serve(t, 0, `{"Results":"SE01","Records":[]}`)
		response, err := client(server).LookupDeeds(t.Context(), property.LookupDeeds{PropertyMAK: "44"}, servicetest.Post)
		checkRefused(t, err, "property LookupDeeds: SE01 (internal error of the service)")
		if response == nil || !response.Results.Has("SE01") {
			t.Errorf("response %+v", response)
		}
	})
	t.Run("homes", func(t *testing.T) {
		server := servicetest.Serve(t, 0, `{"Results":"GE14"}`)
		response, err := client(server).LookupHomesByOwner(t.Context(), property.LookupHomesByOwner{OwnerMAK: "44"}, servicetest.Get)
		checkRefused(t, err, "property LookupHomesByOwner: GE14 (out of credit)")
		if response == nil || !response.Codes.Has("GE14") {
			t.Errorf("response %+v", response)
		}
	})
}

func checkRefused(t *testing.T, err error, want string) {
	t.Helper()
	if _, ok := errors.AsType[*service.AnswerError](err); !ok || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Warnings, unknown codes, codes of one record and answers without records are
// not errors.
func TestWarningsAndEmptyAnswersAreNoErrors(t *testing.T) {
	for name, answer := range map[string]string{
		"warning":       `{"TransmissionResults":"GW01,GW10","TotalRecords":0,"Records":[]}`,
		"unknown code":  `{"TransmissionResults":"YC01","Records":[]}`,
		"record's code": `{"TransmissionResults":"","TotalRecords":1,"Records":[{"RecordID":"a","Results":"AE01"}]}`,
		"no list":       `{"TransmissionResults":"","TotalRecords":0}`,
		"null list":     `{"TransmissionResults":"","TotalRecords":null,"Records":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, 0, answer)
			response, err := client(server).LookupProperty(t.Context(), one(property.Record{MAK: "44"}), servicetest.Get)
			if err != nil || string(response.Raw) != answer {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestUnexpectedAnswersAreRefused(t *testing.T) {
	tests := map[string]struct {
		status       int
		answer, want string
	}{
		"field texts":   {400, `{"type":"t","title":"Wrong.","status":400,"errors":{"$.Records[0].FIPS":["too long"]},"traceId":"0"}`, "$.Records[0].FIPS: too long"},
		"web page":      {200, `<html>sign in</html>`, "a web page instead of data"},
		"XML unasked":   {200, `<LookupPropertyResponse/>`, "not JSON"},
		"other service": {200, `{"value":"unexpected"}`, "unexpected response shape"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, test.status, test.answer)
			err := lookUp(one(property.Record{FIPS: "20999", APN: "7"}), servicetest.Post)(t.Context(), client(server))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// A lookup changes nothing at the provider, so a POST is retried too.
func TestTransientFaultsAreRetried(t *testing.T) {
	for name, do := range calls() {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, 0, empty)
			server.First(http.StatusServiceUnavailable, "")
			if err := do(t.Context(), client(server)); err != nil {
				t.Error(err)
			}
			if requests := server.Requests(); len(requests) != 2 || requests[0] != requests[1] {
				t.Errorf("sent %q, want one request twice", requests)
			}
		})
	}
	server := servicetest.Serve(t, http.StatusServiceUnavailable, "")
	server.GiveUpSoon()
	if err := calls()["homes_get"](t.Context(), client(server)); !transport.IsTransient(err) {
		t.Errorf("got %v, want a transient error", err)
	}
}
