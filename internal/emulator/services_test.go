package emulator

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/emulator/contribution"
)

const jsonType = "application/json"

// body is a JSON object with the Customer ID under a name, and more members.
func body(name, more string) string {
	return fmt.Sprintf(`{"%s":"%s"%s}`, name, testID, more)
}

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
			a := query(t, tt.url, "mak", "1")
			if a.StatusCode != tt.status || tt.status == 404 && a.body != "" {
				t.Errorf("%d %q, want %d", a.StatusCode, a.body, tt.status)
			}
		})
	}
}

// Each path of every service with the methods that it offers, and none other.
func TestServiceMethods(t *testing.T) {
	e := start(t, Config{})
	paths := 0
	for _, s := range e.services() {
		for name, op := range s.operations {
			paths += len(op.methods)
			for _, method := range []string{"GET", "POST", "HEAD", "PUT", "DELETE"} {
				if slices.Contains(op.methods, method) {
					continue
				}
				a := send(t, method, e.URL()+s.base+"/"+name)
				if want := strings.Join(op.methods, ", "); a.StatusCode != 405 || a.Header.Get("Allow") != want || a.body != "" {
					t.Errorf("%s %s: %d, Allow %s", method, name, a.StatusCode, a.Header.Get("Allow"))
				}
			}
		}
	}
	if want := 18 + 6 + 2*6 + 5; paths != want {
		t.Errorf("%d methods and paths, want %d", paths, want)
	}
}

// blankAnswers are the envelopes that a refused request gets, without its code.
var blankAnswers = []struct {
	path    string
	id      string // the name of the Customer ID in a body; "" is a query
	unknown string // the code for a wrong one
	code    string // the member for the code
	text    string // the member that explains it, if any
	want    object
}{
	{contribution.Path + "/addMAK", "CustomerID", "GE05", "TransmissionResults", "",
		object{"Version": "8.4.0.9001", "TransmissionReference": "", "Results": "", "Message": ""}},
	{propertyPath + "/LookupProperty", "CustomerId", "GE05", "TransmissionResults", "",
		object{"Version": "9.4.2.9001", "TransmissionReference": "", "TotalRecords": 0.0, "Records": []any{}}},
	{propertyPath + "/LookupDeeds", "CustomerId", "GE05", "Results", "",
		object{"Version": "9.4.2.9001", "TransmissionReference": "", "TotalRecords": 0.0, "TransactionID": "", "Records": []any{}}},
	{propertyPath + "/LookupHomesByOwner", "CustomerId", "GE05", "Results", "",
		object{"Version": "9.4.2.9001", "TransmissionReference": "", "TotalRecords": 0.0, "Records": []any{}}},
	{reverseGeoPath + "/doLookup", "CustomerId", "GE05", "TransmissionResults", "",
		object{"Version": "8.3.0.9001", "TransmissionReference": "", "Results": "", "TotalRecords": 0.0, "Records": []any{}}},
	{autocompletePath + "/GlobalExpressFreeForm", "", "GE09", "ResultCode", "ErrorString",
		object{"Version": "9.0.0.9001", "Results": []any{}}},
	{listPath + "/MAK/doCount", "CustomerID", "GE05", "ResultCode", "Message",
		object{"Count": 0.0, "JobId": ""}},
	{listPath + "/MAK/doLookup", "CustomerID", "GE05", "ResultCode", "Message",
		object{"Count": 0.0, "JobId": "", "Results": []any{},
			"Pagination": object{"CurrentPage": 0.0, "NextPage": 0.0, "TotalPages": 0.0}}},
}

func TestServiceCustomerID(t *testing.T) {
	e := start(t, Config{})
	for _, tt := range blankAnswers {
		for id, code := range map[string]string{"": "GE04", "wrong": tt.unknown} {
			t.Run(tt.path+" "+code, func(t *testing.T) {
				var a answer
				if tt.id != "" {
					// A name in another case is the same name.
					a = submit(t, e.URL()+tt.path, jsonType, fmt.Sprintf(`{"%s":"%s"}`, strings.ToUpper(tt.id), id))
				} else {
					a = send(t, http.MethodGet, e.URL()+tt.path+"?ID="+id)
				}
				got := decoded(t, a)
				want := maps.Clone(tt.want)
				want[tt.code] = code
				if tt.text != "" {
					want[tt.text] = codeTexts[code]
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// Without a configured Customer ID any will do.
func TestServicesTakeAnyCustomerID(t *testing.T) {
	e, err := Start(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for id, want := range map[string]string{"anything": "XS01", "": "GE04"} {
		a := send(t, http.MethodGet, e.AutocompleteURL()+"/GlobalExpressCountry?country=ice&id="+id)
		if got := at(decoded(t, a), "ResultCode"); got != want {
			t.Errorf("id %q: %s, want %s", id, got, want)
		}
	}
}

func TestServiceBodies(t *testing.T) {
	e := start(t, Config{})
	reverse, property := e.ReverseGeoURL()+"/doLookup", e.PropertyURL()+"/LookupProperty"
	tests := []struct {
		name, url, kind, body string
		status                int
		field                 string // at fault
		text                  string
	}{
		{"string", reverse, jsonType, body("CustomerId", `,"Latitude":"38.1","Longitude":"-97.5"`), 200, "", ""},
		{"with a charset", reverse, "application/json; charset=utf-8", body("CustomerId", `,"Latitude":"38.1","Longitude":"-97.5"`), 200, "", ""},
		{"null is not given", reverse, jsonType, body("CustomerId", `,"Latitude":"38.1","Longitude":"-97.5","Options":null`), 200, "", ""},
		{"number in place of a string", reverse, jsonType, body("CustomerId", `,"Latitude":38.1,"Longitude":"-97.5"`), 400,
			"$.Latitude", "The JSON value could not be converted to System.String."},
		{"number in a record", property, jsonType, body("CustomerId", `,"Records":[{"MAK":"1"},{"MAK":4400112233}]`), 400,
			"$.Records[1].MAK", "The JSON value could not be converted to System.String."},
		{"records that are no array", property, jsonType, body("CustomerId", `,"Records":{}`), 400,
			"$.Records", "The JSON value could not be converted to an array."},
		{"record that is no object", property, jsonType, body("CustomerId", `,"Records":["a"]`), 400,
			"$.Records[0]", "The JSON value could not be converted to an object."},
		{"unknown members are ignored", reverse, jsonType, body("CustomerId", `,"Latitude":"38.1","Longitude":"-97.5","More":1`), 200, "", ""},
		{"broken", reverse, jsonType, `{"CustomerId":`, 400, "$", ""},
		{"no object", reverse, jsonType, `[]`, 400, "$", ""},
		{"more than one", reverse, jsonType, `{} {}`, 400, "$", ""},
		{"empty", reverse, jsonType, ``, 400, "$", ""},
		{"form", reverse, "application/x-www-form-urlencoded", "a=b", 415, "Content-Type", ""},
		{"XML where there is none", e.ContributionURL() + "/addMAK", "application/xml", "<a/>", 415, "Content-Type", ""},
		{"XML with another root", reverse, "application/xml", "<Request/>", 400, "$", ""},
		{"broken XML", reverse, "application/xml", "<RequestArray>", 400, "$", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := submit(t, tt.url, tt.kind, tt.body)
			if a.StatusCode != tt.status {
				t.Fatalf("%d %s, want %d", a.StatusCode, a.body, tt.status)
			}
			if tt.field == "" {
				return
			}
			var p titleShape
			if err := json.Unmarshal([]byte(a.body), &p); err != nil {
				t.Fatal(err)
			}
			texts := p.Errors[tt.field]
			if p.Status != tt.status || p.Title == "" || p.TraceID == "" || len(texts) != 1 || tt.text != "" && texts[0] != tt.text {
				t.Errorf("%s", a.body)
			}
		})
	}
}

// The same request as a query and as a body in both formats gives the same
// answer in both formats.
func TestServiceForms(t *testing.T) {
	e := start(t, Config{})
	target := e.ReverseGeoURL() + "/doLookup"
	xmlBody := `<?xml version="1.0"?><r:RequestArray xmlns:r="urn:x"><r:CustomerId>` + testID + `</r:CustomerId>` +
		`<r:Latitude>38.104220</r:Latitude><r:Longitude>-97.551870</r:Longitude><r:MaxRecords>1</r:MaxRecords>` +
		`<r:TransmissionReference>t&amp;1</r:TransmissionReference></r:RequestArray>`
	jsonBody := body("CUSTOMERID", `,"latitude":"38.104220","longitude":"-97.551870","maxrecords":"1","transmissionreference":"t&1"`)
	pairs := []string{"LAT", "38.104220", "Long", "-97.551870", "recs", "1", "t", "t&1"}
	answers := map[string]answer{
		"query as usual":     query(t, target, pairs...),
		"query as XML":       query(t, target, append(pairs, "format", "XML")...),
		"query as JSON":      query(t, target, append(pairs, "Format", "JSON")...),
		"XML and an XML":     submit(t, target, "application/xml", xmlBody),
		"JSON and a JSON":    submit(t, target, jsonType, jsonBody),
		"JSON and no Accept": postAccepting(t, target, jsonType, "", jsonBody),
		"JSON and any":       postAccepting(t, target, jsonType, "*/*", jsonBody),
		"XML and a JSON":     postAccepting(t, target, "application/xml", jsonType, xmlBody),
		"JSON and an XML":    postAccepting(t, target, jsonType, "application/xml;q=0.9, */*;q=0.1", jsonBody),
	}
	for name, a := range answers {
		asXML := strings.HasSuffix(name, "XML") || name == "query as usual"
		if got := a.Header.Get("Content-Type"); strings.HasPrefix(got, "application/xml") != asXML {
			t.Errorf("%s: %s", name, got)
		}
		want := `"TransmissionReference":"t&1"`
		if asXML {
			want = "<TransmissionReference>t&amp;1</TransmissionReference>"
		}
		if a.StatusCode != 200 || !strings.Contains(a.body, want) || !strings.Contains(a.body, "4400112233") {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
}

// postAccepting is submit with an Accept of its own, "" for none.
func postAccepting(t *testing.T, address, kind, accept, text string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	resp, err := client(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp, string(b), err}
}

func TestRequestLogHoldsBodies(t *testing.T) {
	e := start(t, Config{})
	text := body("CustomerId", `,"Latitude":"1","Longitude":"2"`)
	submit(t, e.ReverseGeoURL()+"/doLookup", jsonType, text)
	e.AddFault(Fault{Kind: KindStatus, Host: HostProperty, Times: 1})
	submit(t, e.PropertyURL()+"/LookupDeeds", jsonType, text)
	long := body("CustomerId", `,"PropertyMAK":"1","More":"`+strings.Repeat("x", maxBody)+`"`)
	if a := submit(t, e.PropertyURL()+"/LookupDeeds", jsonType, long); a.StatusCode != 200 {
		t.Errorf("a long body: %d %s", a.StatusCode, a.body)
	}
	query(t, e.AutocompleteURL()+"/GlobalExpressCountry", "country", "x")
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
	shown := send(t, http.MethodGet, e.URL()+"/-/requests").body
	if !strings.Contains(shown, `"body":"{\"CustomerId\":`) || strings.Count(shown, `"body"`) != 3 {
		t.Errorf("the administration shows %d bodies", strings.Count(shown, `"body"`))
	}
}

// A fault hits the service that it names, and knows the caller's Customer ID
// wherever that stands.
func TestServiceFaults(t *testing.T) {
	e := start(t, Config{})
	forms := map[string]func(t *testing.T) answer{
		"query": func(t *testing.T) answer { return query(t, e.PropertyURL()+"/LookupDeeds", "mak", "1") },
		"JSON": func(t *testing.T) answer {
			return submit(t, e.PropertyURL()+"/LookupDeeds", jsonType, body("CustomerId", ""))
		},
		"XML": func(t *testing.T) answer {
			return submit(t, e.PropertyURL()+"/LookupDeeds", "application/xml",
				"<LookupDeedsRequest><CustomerId>"+testID+"</CustomerId></LookupDeedsRequest>")
		},
	}
	for name, ask := range forms {
		t.Run(name, func(t *testing.T) {
			defer e.ClearFaults()
			e.AddFault(Fault{Kind: KindStatus, Status: 500, Host: HostList})
			e.AddFault(Fault{Kind: KindShape, Shape: "echo", Host: HostProperty, Times: 1})
			e.AddFault(Fault{Kind: KindBody, Body: "<{id}>", Host: HostProperty, Path: propertyPath + "/*"})
			if a := ask(t); a.StatusCode != 200 || !strings.Contains(a.body, testID) || !strings.Contains(a.body, url.QueryEscape(testID)) {
				t.Errorf("echo: %d %s", a.StatusCode, a.body)
			}
			if a := ask(t); a.body != "<"+testID+">" {
				t.Errorf("body: %s", a.body)
			}
		})
	}
	for _, host := range hosts {
		if _, err := ParseFault("kind=status,host=" + host); err != nil {
			t.Error(err)
		}
	}
}

func TestHugeAnswerOfAService(t *testing.T) {
	first, unit, last := hugeParts(&http.Request{URL: &url.URL{Path: listPath + "/MAK/doCount"}})
	if !json.Valid([]byte(first + unit + unit + last)) {
		t.Errorf("%s%s%s", first, unit, last)
	}
}

// Keys carry the vendor's word in both directions.
func TestPrefix(t *testing.T) {
	e := start(t, Config{Prefix: "Acme"})
	a := query(t, e.ReverseGeoURL()+"/doLookup", "lat", "38.104220", "long", "-97.551870", "recs", "1", "format", "json")
	if rows := rowsOf(t, a); len(rows) != 1 || at(rows[0], "AcmeAddressKey") != "4400112233" {
		t.Errorf("reverse geocoding: %s", a.body)
	}
	a = submit(t, e.ContributionURL()+"/removeMAK", jsonType, body("CustomerID", `,"Action":"delete","AcmeAddressKey":"1"`))
	if at(decoded(t, a), "Results") != "MS01" || e.Contributions()[0].Value("AcmeAddressKey") != "1" {
		t.Errorf("contribution: %s", a.body)
	}
	wantFaulty(t, submit(t, e.ContributionURL()+"/removeMAK", jsonType, body("CustomerID", `,"Action":"delete","ProviderAddressKey":"1"`)), "$.AcmeAddressKey")
	a = lookup(t, e, "MAK", `"Includes":{"Zips":[{"Zip":"66999","Plus4":"1205"}]},"Columns":["AcmeAddressKey","ProviderAddressKey"]`, 1)
	if !strings.Contains(a.body, `"AcmeAddressKey":4400`) || !strings.Contains(a.body, `"ProviderAddressKey":""`) {
		t.Errorf("list: %s", a.body)
	}
}

// What one service tells, another finds: auto-complete gives the key and the
// coordinates by which the others know the address.
func TestServicesAgree(t *testing.T) {
	e := start(t, Config{})
	keys := make(map[string]bool)
	for page, pages := 1, 1; page <= pages; page++ {
		var answer listAnswer
		unmarshal(t, lookup(t, e, "MAK", `"Includes":{"Zips":[{"Zip":"66999"}]},"Columns":["ProviderAddressKey","AddressLine"]`, page), &answer)
		pages = answer.Pagination.TotalPages
		for _, row := range answer.Results {
			keys[string(row["ProviderAddressKey"])] = true
		}
	}
	a := query(t, e.AutocompleteURL()+"/GlobalExpressFreeForm", "format", "json", "country", "US",
		"ff", "tea 66999", "maxrecords", "100", "suitecompression", "False")
	var found completionAnswer
	unmarshal(t, a, &found)
	if len(found.Results) < 40 {
		t.Fatalf("%d results", len(found.Results))
	}
	for _, r := range found.Results {
		mak, line := r.Address.text("MAK"), r.Address.text("Address")
		near := rowsOf(t, query(t, e.ReverseGeoURL()+"/doLookup", "format", "json", "recs", "1", "dist", "0.01",
			"opt", "IncludeApartments:On", "lat", r.Address.text("Latitude"), "long", r.Address.text("Longitude")))
		if len(near) != 1 || at(near[0], "ProviderAddressKey") != mak {
			t.Errorf("%s: reverse geocoding finds %v", line, near)
		}
		parcels := rowsOf(t, query(t, e.PropertyURL()+"/LookupProperty", "mak", mak))
		if hasParcel := e.world.ByMAK(mak).Parcel != nil; hasParcel && (len(parcels) != 1 || at(parcels[0], "PropertyAddress.MAK") != mak) {
			t.Errorf("%s: property finds %v", line, parcels)
		}
		if !keys[mak] {
			t.Errorf("%s is not in the list", line)
		}
	}
}

func unmarshal(t *testing.T, a answer, into any) {
	t.Helper()
	if a.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	decode := json.Unmarshal
	if strings.HasPrefix(a.Header.Get("Content-Type"), "application/xml") {
		decode = xml.Unmarshal
	}
	if err := decode([]byte(a.body), into); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
}
