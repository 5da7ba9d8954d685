package emulator

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/emulator/autocomplete"
	"syncd/internal/emulator/contribution"
	"syncd/internal/emulator/listing"
	"syncd/internal/emulator/property"
	"syncd/internal/emulator/reversegeo"
	"syncd/internal/emulator/testclient"
)

func TestServicePaths(t *testing.T) {
	e := start(t, Config{})
	tests := []struct {
		name   string
		url    string
		status int
	}{
		{"operation", e.PropertyURL() + "/LookupProperty", 200},
		{"slash at the end", e.PropertyURL() + "/LookupProperty/", 200},
		{"operation in another case", e.PropertyURL() + "/lookupProperty", 404},
		{"path in another case", e.URL() + "/property/V4/WEB/LookupProperty", 404},
		{"unknown operation", e.PropertyURL() + "/LookupListings", 404},
		{"no operation", e.PropertyURL(), 404},
		{"more behind the operation", e.PropertyURL() + "/LookupProperty/x", 404},
		{"reverse geocoding", e.ReverseGeoURL() + "/doLookup", 400}, // no coordinates
		{"reverse geocoding in another case", e.URL() + "/ReverseGeo/V3/WEB/reversegeocode/DoLookup", 400},
		{"both auto-complete addresses", e.AutocompleteJSONPURL() + "/GlobalExpressPostalCode", 400},
		{"old auto-complete operation", e.AutocompleteURL() + "/ExpressPostalCode", 404},
		{"list group and operation", e.ListURL() + "/MAK/doCount", 405},
		{"list group in another case", e.ListURL() + "/mak/doCount", 404},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := testclient.Query(t, tt.url, "mak", "1")
			if a.StatusCode != tt.status || tt.status == 404 && a.Text != "" {
				t.Errorf("%d %q, want %d", a.StatusCode, a.Text, tt.status)
			}
		})
	}
}

// Every operation refuses the methods that it does not have.
func TestServiceMethods(t *testing.T) {
	e := start(t, Config{})
	paths := 0
	for _, s := range e.services() {
		for name, op := range s.service.Operations {
			paths += len(op.Methods)
			for _, method := range []string{"GET", "POST", "HEAD", "PUT", "DELETE"} {
				if slices.Contains(op.Methods, method) {
					continue
				}
				a := testclient.Send(t, method, e.URL()+s.service.Path+"/"+name)
				if want := strings.Join(op.Methods, ", "); a.StatusCode != 405 || a.Header.Get("Allow") != want || a.Text != "" {
					t.Errorf("%s %s: %d, Allow %s", method, name, a.StatusCode, a.Header.Get("Allow"))
				}
			}
		}
	}
	if want := 11 + 18 + 6 + 2*6 + 5; paths != want {
		t.Errorf("%d methods and paths, want %d", paths, want)
	}
}

// blankAnswers are the answers to refused requests, without the code.
var blankAnswers = []struct {
	path    string
	id      string // the name of the Customer ID in a body; "" is a query
	unknown string // the code for a wrong one
	code    string // the member for the code
	text    string // the member that explains it, if any
	want    testclient.Object
}{
	{contribution.Path + "/addMAK", "CustomerID", "GE05", "TransmissionResults", "",
		testclient.Object{"Version": "8.4.0.9001", "TransmissionReference": "", "Results": "", "Message": ""}},
	{property.Path + "/LookupProperty", "CustomerId", "GE05", "TransmissionResults", "",
		testclient.Object{"Version": "9.4.2.9001", "TransmissionReference": "", "TotalRecords": 0.0, "Records": []any{}}},
	{property.Path + "/LookupDeeds", "CustomerId", "GE05", "Results", "",
		testclient.Object{"Version": "9.4.2.9001", "TransmissionReference": "", "TotalRecords": 0.0, "TransactionID": "", "Records": []any{}}},
	{property.Path + "/LookupHomesByOwner", "CustomerId", "GE05", "Results", "",
		testclient.Object{"Version": "9.4.2.9001", "TransmissionReference": "", "TotalRecords": 0.0, "Records": []any{}}},
	{reversegeo.Path + "/doLookup", "CustomerId", "GE05", "TransmissionResults", "",
		testclient.Object{"Version": "8.3.0.9001", "TransmissionReference": "", "Results": "", "TotalRecords": 0.0, "Records": []any{}}},
	{autocomplete.Path + "/GlobalExpressFreeForm", "", "GE09", "ResultCode", "ErrorString",
		testclient.Object{"Version": "9.0.0.9001", "Results": []any{}}},
	{listing.Path + "/MAK/doCount", "CustomerID", "GE05", "ResultCode", "Message",
		testclient.Object{"Count": 0.0, "JobId": ""}},
	{listing.Path + "/MAK/doLookup", "CustomerID", "GE05", "ResultCode", "Message",
		testclient.Object{"Count": 0.0, "JobId": "", "Results": []any{},
			"Pagination": testclient.Object{"CurrentPage": 0.0, "NextPage": 0.0, "TotalPages": 0.0}}},
}

func TestServiceCustomerID(t *testing.T) {
	e := start(t, Config{})
	for _, tt := range blankAnswers {
		for id, code := range map[string]string{"": "GE04", "wrong": tt.unknown} {
			t.Run(tt.path+" "+code, func(t *testing.T) {
				var a testclient.Answer
				if tt.id != "" {
					// Names of members have no case.
					a = testclient.Submit(t, e.URL()+tt.path, testclient.JSON, fmt.Sprintf(`{"%s":"%s"}`, strings.ToUpper(tt.id), id))
				} else {
					a = testclient.Send(t, http.MethodGet, e.URL()+tt.path+"?ID="+id)
				}
				got := testclient.Decoded(t, a)
				want := maps.Clone(tt.want)
				want[tt.code] = code
				if tt.text != "" {
					want[tt.text] = map[string]string{
						"GE04": "The Customer ID is empty.", "GE05": "The Customer ID is not valid.", "GE09": "The customer is not known.",
					}[code]
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// Without a configured Customer ID, every id is accepted.
func TestServicesAcceptAnyCustomerIDByDefault(t *testing.T) {
	e, err := Start(Config{})
	must(t, err)
	defer e.Close()
	for id, want := range map[string]string{"anything": "XS01", "": "GE04"} {
		a := testclient.Send(t, http.MethodGet, e.AutocompleteURL()+"/GlobalExpressCountry?country=ice&id="+id)
		if got := testclient.At(testclient.Decoded(t, a), "ResultCode"); got != want {
			t.Errorf("id %q: %s, want %s", id, got, want)
		}
	}
}

func TestRequestLogHoldsBodies(t *testing.T) {
	e := start(t, Config{})
	text := testclient.Body("CustomerId", `,"Latitude":"1","Longitude":"2"`)
	testclient.Submit(t, e.ReverseGeoURL()+"/doLookup", testclient.JSON, text)
	e.AddFault(Fault{Kind: KindStatus, Host: HostProperty, Times: 1})
	testclient.Submit(t, e.PropertyURL()+"/LookupDeeds", testclient.JSON, text)
	long := testclient.Body("CustomerId", `,"PropertyMAK":"1","More":"`+strings.Repeat("x", maxBody)+`"`)
	if a := testclient.Submit(t, e.PropertyURL()+"/LookupDeeds", testclient.JSON, long); a.StatusCode != 200 {
		t.Errorf("a long body: %d %s", a.StatusCode, a.Text)
	}
	testclient.Query(t, e.AutocompleteURL()+"/GlobalExpressCountry", "country", "x")
	want := []struct {
		host, body string
		status     int
	}{
		{HostReverseGeo, text, 200},
		{HostProperty, text, 503},
		{HostProperty, long[:maxBody], 200},
		{HostAutocomplete, "", 200},
	}
	for i, r := range e.Requests() {
		if r.Host != want[i].host || r.Body != want[i].body || r.Status != want[i].status {
			t.Errorf("request %d: %s %d, %d bytes of body", i, r.Host, r.Status, len(r.Body))
		}
	}
	shown := testclient.Send(t, http.MethodGet, e.URL()+"/-/requests").Text
	if !strings.Contains(shown, `"body":"{\"CustomerId\":`) || strings.Count(shown, `"body"`) != 3 {
		t.Errorf("the administration shows %d bodies", strings.Count(shown, `"body"`))
	}
}

// A fault hits the service that it names. It finds the caller's Customer ID in a
// query, in JSON and in XML.
func TestServiceFaults(t *testing.T) {
	e := start(t, Config{})
	forms := map[string]func(t *testing.T) testclient.Answer{
		"query": func(t *testing.T) testclient.Answer {
			return testclient.Query(t, e.PropertyURL()+"/LookupDeeds", "mak", "1")
		},
		"JSON": func(t *testing.T) testclient.Answer {
			return testclient.Submit(t, e.PropertyURL()+"/LookupDeeds", testclient.JSON, testclient.Body("CustomerId", ""))
		},
		"XML": func(t *testing.T) testclient.Answer {
			return testclient.Submit(t, e.PropertyURL()+"/LookupDeeds", "application/xml",
				"<LookupDeedsRequest><CustomerId>"+testclient.ID+"</CustomerId></LookupDeedsRequest>")
		},
	}
	for name, ask := range forms {
		t.Run(name, func(t *testing.T) {
			defer e.ClearFaults()
			e.AddFault(Fault{Kind: KindStatus, Status: 500, Host: HostList})
			e.AddFault(Fault{Kind: KindShape, Shape: "echo", Host: HostProperty, Times: 1})
			e.AddFault(Fault{Kind: KindBody, Body: "<{id}>", Host: HostProperty, Path: property.Path + "/*"})
			if a := ask(t); a.StatusCode != 200 || !strings.Contains(a.Text, testclient.ID) || !strings.Contains(a.Text, url.QueryEscape(testclient.ID)) {
				t.Errorf("echo: %d %s", a.StatusCode, a.Text)
			}
			if a := ask(t); a.Text != "<"+testclient.ID+">" {
				t.Errorf("body: %s", a.Text)
			}
		})
	}
	for _, host := range hosts {
		if _, err := ParseFault("kind=status,host=" + host); err != nil {
			t.Error(err)
		}
	}
}

func TestHugeAnswerOfServiceIsJSON(t *testing.T) {
	first, unit, last := hugeParts(&http.Request{URL: &url.URL{Path: listing.Path + "/MAK/doCount"}})
	if !json.Valid([]byte(first + unit + unit + last)) {
		t.Errorf("%s%s%s", first, unit, last)
	}
}

func listPage(t *testing.T, e *Emulator, group, members string, page int) testclient.Answer {
	t.Helper()
	more := fmt.Sprintf(`,%s,"Pagination":{"Page":%d}`, members, page)
	return testclient.Submit(t, e.ListURL()+"/"+group+"/doLookup", testclient.JSON, testclient.Body("CustomerID", more))
}

// Keys carry the vendor's word in both directions.
func TestPrefix(t *testing.T) {
	e := start(t, Config{Prefix: "Acme"})
	a := testclient.Query(t, e.ReverseGeoURL()+"/doLookup", "lat", "38.104220", "long", "-97.551870", "recs", "1", "format", "json")
	if rows := testclient.Rows(t, a); len(rows) != 1 || testclient.At(rows[0], "AcmeAddressKey") != "4400112233" {
		t.Errorf("reverse geocoding: %s", a.Text)
	}
	a = testclient.Submit(t, e.ContributionURL()+"/removeMAK", testclient.JSON, testclient.Body("CustomerID", `,"Action":"delete","AcmeAddressKey":"1"`))
	if testclient.At(testclient.Decoded(t, a), "Results") != "MS01" || e.Contributions()[0].Value("AcmeAddressKey") != "1" {
		t.Errorf("contribution: %s", a.Text)
	}
	testclient.WantFaulty(t, testclient.Submit(t, e.ContributionURL()+"/removeMAK", testclient.JSON, testclient.Body("CustomerID", `,"Action":"delete","ProviderAddressKey":"1"`)), "$.AcmeAddressKey")
	a = listPage(t, e, "MAK", `"Includes":{"Zips":[{"Zip":"66999","Plus4":"1205"}]},"Columns":["AcmeAddressKey","ProviderAddressKey"]`, 1)
	if !strings.Contains(a.Text, `"AcmeAddressKey":4400`) || !strings.Contains(a.Text, `"ProviderAddressKey":""`) {
		t.Errorf("list: %s", a.Text)
	}
}

// Auto-complete returns the key and the coordinates of an address. The other
// services find the address by them.
func TestServicesAgree(t *testing.T) {
	e := start(t, Config{})
	keys := make(map[string]bool)
	for page, pages := 1, 1; page <= pages; page++ {
		var found struct {
			Results    []map[string]json.RawMessage
			Pagination struct{ TotalPages int }
		}
		testclient.Unmarshal(t, listPage(t, e, "MAK", `"Includes":{"Zips":[{"Zip":"66999"}]},"Columns":["ProviderAddressKey","AddressLine"]`, page), &found)
		pages = found.Pagination.TotalPages
		for _, row := range found.Results {
			keys[string(row["ProviderAddressKey"])] = true
		}
	}
	a := testclient.Query(t, e.AutocompleteURL()+"/GlobalExpressFreeForm", "format", "json", "country", "US",
		"ff", "tea 66999", "maxrecords", "100", "suitecompression", "False")
	var found struct {
		Results []struct {
			Address struct{ MAK, Address, Latitude, Longitude string }
		}
	}
	testclient.Unmarshal(t, a, &found)
	if len(found.Results) < 40 {
		t.Fatalf("%d results", len(found.Results))
	}
	for _, r := range found.Results {
		mak, line := r.Address.MAK, r.Address.Address
		near := testclient.Rows(t, testclient.Query(t, e.ReverseGeoURL()+"/doLookup", "format", "json", "recs", "1", "dist", "0.01",
			"opt", "IncludeApartments:On", "lat", r.Address.Latitude, "long", r.Address.Longitude))
		if len(near) != 1 || testclient.At(near[0], "ProviderAddressKey") != mak {
			t.Errorf("%s: reverse geocoding finds %v", line, near)
		}
		parcels := testclient.Rows(t, testclient.Query(t, e.PropertyURL()+"/LookupProperty", "mak", mak))
		if hasParcel := e.world.ByMAK(mak).Parcel != nil; hasParcel && (len(parcels) != 1 || testclient.At(parcels[0], "PropertyAddress.MAK") != mak) {
			t.Errorf("%s: property finds %v", line, parcels)
		}
		if !keys[mak] {
			t.Errorf("%s is not in the list", line)
		}
	}
}
