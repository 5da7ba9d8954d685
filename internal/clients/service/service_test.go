package service_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/clients/service"
	"syncd/internal/clients/service/servicetest"
	"syncd/internal/clients/transport"
	"syncd/internal/clients/wire"
)

// lookup is an operation with inputs of most kinds and all forms.
var lookup = &service.Operation{
	Name: "Lookup", Methods: service.GetPost, Open: true, Formats: []string{service.FormatJSON, service.FormatXML}, Query: "format", JSONP: true,
	XML: service.XML{Root: "LookupRequest", Item: "Record", Schema: wire.Schema{Lists: []string{"Records"}}},
	Fields: service.Fields{Inputs: []service.Input{
		{Name: "CustomerId", Kind: service.Identity},
		{Name: "TransmissionReference", Query: "t", Kind: service.Text},
		{Name: "TotalRecords", Kind: service.Count},
		{Name: "Options", Query: "opt", Kind: service.Options(map[string]service.Kind{"Page": service.Whole(1, 9), "Desc": service.OneOf("on", "off")})},
		{Name: "Records", Kind: service.Objects(3), Required: true, Fields: service.Fields{
			Inputs: []service.Input{
				{Name: "RecordID", Kind: service.Text},
				{Name: "AddressLine1", Query: "a1", Kind: service.Text},
				{Name: "PostalCode", Query: "postal", Kind: service.Text},
				{Name: "{Prefix}AddressKey", Query: "mak", Kind: service.Key},
			},
			AnyOf: []service.Set{{"{Prefix}AddressKey"}, {"AddressLine1", "PostalCode"}},
		}},
	}},
}

// search resembles a lookup of a list.
var search = &service.Operation{
	Name: "MAK/doLookup", Methods: service.PostOnly, Formats: []string{service.FormatJSON},
	Fields: service.Fields{Inputs: []service.Input{
		{Name: "CustomerID", Kind: service.Identity},
		{Name: "Includes", Kind: service.Object, Required: true, Fields: filters(service.Set{"Zips"}, service.Set{"Radius"})},
		{Name: "Excludes", Kind: service.Object, Fields: filters()},
		{Name: "Columns", Kind: columns(), Required: true},
		{Name: "Pagination", Kind: service.Object, Fields: service.Fields{Inputs: []service.Input{{Name: "Page", Kind: service.Integer, Required: true}}}},
	}},
}

func columns() service.Kind {
	kind := service.Texts
	kind.Values = []string{"{Prefix}AddressKey", "City"}
	return kind
}

func filters(anyOf ...service.Set) service.Fields {
	return service.Fields{AnyOf: anyOf, Inputs: []service.Input{
		{Name: "Zips", Kind: service.Objects(0), Fields: service.Fields{Inputs: []service.Input{{Name: "Zip", Kind: service.Text, Required: true}}}},
		{Name: "Radius", Kind: service.Object, Fields: service.Fields{Inputs: []service.Input{{Name: "Latitude", Kind: service.Numeric(service.Latitude)}}}},
		{Name: "ShapeWKTs", Kind: service.Texts},
		{Name: "NonUSPS", Kind: service.Booleans},
		{Name: "AgeRange", Kind: service.Object, Fields: service.Fields{Inputs: []service.Input{{Name: "minimum", Kind: service.Integer}}}},
	}}
}

func TestArgumentsBecomeBodies(t *testing.T) {
	tests := map[string]struct {
		op   *service.Operation
		args []string
		want string
	}{
		"record by last names": {lookup, []string{"ADDRESSLINE1=12 Larkspur Way", "postalcode=66999", "options=page:1,DESC:On"},
			`{"CustomerId":"CID","TotalRecords":"1","Options":"Page:1,Desc:on","Records":[{"AddressLine1":"12 Larkspur Way","PostalCode":"66999"}]}`},
		"two records": {lookup, []string{"RecordID=a", "AcmeAddressKey=1", "RecordID=b", "{Prefix}AddressKey=2"},
			`{"CustomerId":"CID","TotalRecords":"2","Records":[{"RecordID":"a","AcmeAddressKey":"1"},{"RecordID":"b","AcmeAddressKey":"2"}]}`},
		"blank is absent": {lookup, []string{"AcmeAddressKey=1", "AddressLine1= "},
			`{"CustomerId":"CID","TotalRecords":"1","Records":[{"AcmeAddressKey":"1"}]}`},
		"filters": {search, []string{"Includes.Zips=66999, 66998", "Excludes.ShapeWKTs=POLYGON((0 0, 1 1)),POLYGON((2 2, 3 3))", "Columns={Prefix}AddressKey,City", "Page=2", "Includes.AgeRange.minimum=30", "Includes.NonUSPS=TRUE"},
			`{"CustomerID":"CID","Includes":{"Zips":[{"Zip":"66999"},{"Zip":"66998"}],"NonUSPS":[true],"AgeRange":{"minimum":30}},"Excludes":{"ShapeWKTs":["POLYGON((0 0, 1 1))","POLYGON((2 2, 3 3))"]},"Columns":["AcmeAddressKey","City"],"Pagination":{"Page":2}}`},
		"JSON": {search, []string{`Includes={"zips":[{"zip":66999}],"Radius":{"Latitude":"38.10"}}`, `columns=["City"]`, `Columns=State`},
			`{"CustomerID":"CID","Includes":{"Zips":[{"Zip":"66999"}],"Radius":{"Latitude":38.10}},"Columns":["City","State"]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := post(t, test.op, nil, test.args); got != strings.ReplaceAll(test.want, "CID", servicetest.CustomerID) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func post(t *testing.T, op *service.Operation, body wire.Object, args []string) string {
	t.Helper()
	members, _, err := op.Arguments("POST", "Acme", body, args)
	must(t, err)
	call, err := op.Check(service.Form{Method: "POST", Lenient: body != nil}, members, "Acme")
	must(t, err)
	server := servicetest.Serve(t, 0, `{"Results":""}`)
	if _, err := server.Client("test", "/base", "Acme").Send(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	_, sent, _ := strings.Cut(server.Requests()[0], "\n\n")
	return strings.TrimSuffix(sent, "\n")
}

func TestBodyGetsIDAndRecordCount(t *testing.T) {
	body, err := lookup.ReadBody([]byte(`{"records":[{"acmeaddresskey":4400112233,"Novel":true}],"customerid":""}`))
	must(t, err)
	got := post(t, lookup, body, nil)
	want := `{"CustomerId":"` + servicetest.CustomerID + `","TotalRecords":"1","Records":[{"AcmeAddressKey":"4400112233","Novel":true}]}`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	fromXML, err := lookup.ReadBody([]byte(`<LookupRequest><Records><Record><AcmeAddressKey>4400112233</AcmeAddressKey></Record></Records></LookupRequest>`))
	must(t, err)
	if got := post(t, lookup, fromXML, nil); got != strings.Replace(want, `,"Novel":true`, "", 1) {
		t.Errorf("got %s", got)
	}
}

func TestInvalidInputIsRefused(t *testing.T) {
	tests := map[string]struct {
		op     *service.Operation
		method string
		args   []string
		want   string
	}{
		"no minimum, GET":   {lookup, "GET", nil, "needs any one of: mak, a1+postal"},
		"no minimum, POST":  {lookup, "POST", []string{"RecordID=a"}, "Records needs any one of: AcmeAddressKey, AddressLine1+PostalCode"},
		"second record":     {lookup, "POST", []string{"AcmeAddressKey=1", "AcmeAddressKey=2", "RecordID=x", "RecordID=y"}, "item 3: "},
		"too many records":  {lookup, "POST", []string{`Records=[{"mak":1},{},{},{}]`}, "has 4 items, at most 3"},
		"twice, both names": {lookup, "GET", []string{"a1=12", "AddressLine1=12"}, "Records has 2 items, and GET carries one"},
		"unknown":           {lookup, "GET", []string{"format=red"}, "the format is not an input: use --format"},
		"ambiguous":         {search, "POST", []string{"Zips=66999"}, "Zips is ambiguous: write Includes.Zips or Excludes.Zips"},
		"twice":             {lookup, "GET", []string{"t=1", "t=2"}, "t is given twice"},
		"no pair":           {lookup, "GET", []string{"t"}, "argument 1 is not name=value"},
		"Customer ID":       {lookup, "GET", []string{"ID=x"}, "the Customer ID is filled in"},
		"filled in":         {lookup, "POST", []string{`Records=[{"AcmeAddressKey":1}]`, "TotalRecords=3"}, "TotalRecords is filled in (the number of records): leave it out"},
		"option":            {lookup, "GET", []string{"mak=1", "opt=Page:0"}, "opt Page must be a whole number from 1 to 9"},
		"unknown option":    {lookup, "GET", []string{"mak=1", "opt=Colour:red"}, "opt must be a list of Desc:on|off, Page:"},
		"no digits":         {lookup, "GET", []string{"mak=12a"}, "mak must be a key of digits"},
		"deep unknown":      {search, "POST", []string{`Includes={"Zips":[{"Zip":"1"}],"Colour":1}`, "Columns=City"}, "unknown input Includes.Colour"},
		"no JSON":           {search, "POST", []string{"Includes={", "Columns=City"}, "Includes must be JSON"},
		"not an object":     {search, "POST", []string{"Includes=[1]", "Columns=City"}, "Includes must be an object"},
		"required":          {search, "POST", []string{"Includes.Zips=1"}, "missing Columns ("},
		"required, nested":  {search, "POST", []string{`Includes.Zips=[{"x":1}]`, "Columns=City"}, "missing Includes.Zips.Zip ("},
		"all at once":       {search, "POST", []string{"Excludes.NonUSPS=maybe"}, "missing Columns (list of texts); Includes needs any one of: Zips, Radius; Excludes.NonUSPS must be true or false"},
		"wrong names":       {search, "POST", []string{"Colour=red", "Includes", "Includes.Zips=1", "CustomerID=x"}, "argument 2 is not name=value; the Customer ID is filled in"},
		"missing in items":  {search, "POST", []string{`Includes={"Zips":[{"Zip":1},{},{"Zip":""}]}`}, "missing Includes.Zips.Zip (text) in item 2, Includes.Zips.Zip (text) in item 3, Columns (list of texts)"},
		"wrong and missing": {lookup, "POST", []string{`Records=[{"AddressLine1":"12"},{"AcmeAddressKey":"x"}]`}, "item 1: Records needs any one of: AcmeAddressKey, AddressLine1+PostalCode; item 2: Records.AcmeAddressKey must be a key of digits"},
		"ID in a body":      {lookup, "POST", []string{"CustomerId=1"}, "the Customer ID is filled in"},
		"number":            {search, "POST", []string{"Includes.Radius.Latitude=NaN", "Columns=City"}, "Includes.Radius.Latitude must be a number from -90 to 90"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			members, _, err := test.op.Arguments(test.method, "Acme", nil, test.args)
			if err == nil {
				_, err = test.op.Check(service.Form{Method: test.method}, members, "Acme")
			}
			if _, ok := errors.AsType[*service.InputError](err); !ok || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// Inputs keep their names when the method changes.
func TestNamesOfTheOtherFormAreTaken(t *testing.T) {
	want := `{"Records":[{"AddressLine1":"12","PostalCode":"66999"}]}`
	for _, method := range []string{"GET", "POST"} {
		for _, args := range [][]string{{"a1=12", "postal=66999"}, {"AddressLine1=12", "PostalCode=66999"}, {"Records.AddressLine1=12", "Records.PostalCode=66999"}} {
			members, _, err := lookup.Arguments(method, "Acme", nil, args)
			must(t, err)
			if got := string(wire.JSON(members)); got != want {
				t.Errorf("%s %v: got %s, want %s", method, args, got, want)
			}
		}
	}
}

func TestFormsAreCompletedAndChecked(t *testing.T) {
	members := wire.Object{{Name: "Records", Value: []wire.Value{wire.Object{{Name: "{Prefix}AddressKey", Value: "1"}}}}}
	many := wire.Object{{Name: "Records", Value: []wire.Value{members.Get("Records").([]wire.Value)[0], members.Get("Records").([]wire.Value)[0]}}}
	tests := map[string]struct {
		form    service.Form
		members wire.Object
		want    string // of the error, or the method and format that are used
	}{
		"default":            {service.Form{}, members, "GET json"},
		"many":               {service.Form{}, many, "POST json"},
		"many with GET":      {service.Form{Method: "GET"}, many, "GET carries one: use POST"},
		"XML":                {service.Form{Format: "XML"}, members, "GET xml"},
		"format":             {service.Form{Format: "csv"}, members, "format csv must be one of json, xml"},
		"method":             {service.Form{Method: "PUT"}, members, "cannot be called with PUT: use GET or POST"},
		"JSONP with XML":     {service.Form{JSONP: true, Format: "xml"}, members, "JSONP answers are JSON only"},
		"callback":           {service.Form{Callback: "cb"}, members, "a callback needs the JSONP form"},
		"callback is a name": {service.Form{JSONP: true, Callback: "alert(1)"}, members, "must be the name of a function"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			call, err := lookup.Check(test.form, test.members, "Acme")
			var got string
			if err != nil {
				got = err.Error()
			} else {
				got = call.Form.Method + " " + call.Form.Format
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestQueryOfJSONP(t *testing.T) {
	members, extra, err := lookup.Arguments("GET", "Acme", nil, []string{"A1=12 Larkspur Way", "POSTAL=66999"})
	if err != nil || len(extra) > 0 {
		t.Fatal(err, extra)
	}
	call, err := lookup.Check(service.Form{JSONP: true, Callback: "cb7", Extra: url.Values{"filterterm": {"zip"}}}, members, "Acme")
	must(t, err)
	server := servicetest.Serve(t, 0, `cb7({"ResultCode":"XS03"});`)
	answer, err := server.Client("test", "/base", "Acme").Send(t.Context(), call)
	must(t, err)
	if diff := cmp.Diff(service.Codes{"XS03"}, answer.Codes); diff != "" {
		t.Error(diff)
	}
	want := "GET /jsonp/Lookup\n  a1=12+Larkspur+Way\n  callback=cb7\n  filterterm=zip\n  format=jsonp\n  id=" + url.QueryEscape(servicetest.CustomerID) + "\n  postal=66999\n"
	if got := server.Requests()[0]; !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
}

// An answer may repeat the Customer ID; its callers never see it.
func TestAnswersHoldNoCustomerID(t *testing.T) {
	const answer = `{"Results":"GE05","Message":"` + servicetest.CustomerID + ` is unknown","` + servicetest.CustomerID + `":["CID-0001%2F%2B%C3%A4"]}`
	server := servicetest.Serve(t, 0, answer)
	members, _, err := lookup.Arguments("POST", "Acme", nil, []string{"AcmeAddressKey=1"})
	must(t, err)
	call, err := lookup.Check(service.Form{Method: "POST"}, members, "Acme")
	must(t, err)
	got, err := server.Client("test", "/base", "Acme").Send(t.Context(), call)
	if got == nil || err == nil {
		t.Fatal(got, err)
	}
	for _, text := range []string{string(got.Raw), string(wire.JSON(got.Value)), err.Error()} {
		if strings.Contains(text, "CID-0001") || !strings.Contains(text, "REDACTED") {
			t.Error(text)
		}
	}
}

// A number holds a short Customer ID by accident, and a name of a member may hold it too.
func TestAShortCustomerIDChangesNoNumberOfAnAnswer(t *testing.T) {
	const answer = `{"TotalRecords":12345,"Results":"XS01","Records":[{"N1234":1234,"Note":"id 1234"}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, answer) }))
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	must(t, err)
	client, err := service.Connect("test", "Acme", transport.Config{Base: base, CustomerID: "1234"}, nil)
	must(t, err)
	t.Cleanup(client.Close)
	members, _, err := lookup.Arguments("POST", "Acme", nil, []string{"AcmeAddressKey=1"})
	must(t, err)
	call, err := lookup.Check(service.Form{Method: "POST"}, members, "Acme")
	must(t, err)
	got, err := client.Send(t.Context(), call)
	if got == nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(answer, "id 1234", "id REDACTED")
	if raw := string(got.Raw); raw != strings.ReplaceAll(want, "N1234", "NREDACTED") {
		t.Error(raw)
	}
	if value := string(wire.JSON(got.Value)); value != want {
		t.Error(value)
	}
}

func TestCodesHaveClassesAndMeanings(t *testing.T) {
	codes := service.ParseCodes(" GE05, XS01,,XS03 ,GW01,QQ9")
	got := map[string]service.Class{}
	for _, code := range codes {
		got[code.String()] = code.Class()
	}
	want := map[string]service.Class{
		"GE05 (invalid Customer ID)": service.Failure, "XS01 (complete)": service.Success, "XS03 (no match)": service.NoMatch,
		"GW01 (the Customer ID expires soon)": service.Warning, "QQ9": service.Unknown,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzArguments(f *testing.F) {
	f.Add("Includes.Zips=66999,66998\nColumns=a,b\nPage=1")
	f.Add("Includes={\"Zips\":[{\"Zip\":1}]}\nExcludes.AgeRange.minimum=x")
	f.Add("RecordID=a\nRecordID=b\nRecords=[1,{}]\nAddressLine1=x")
	f.Fuzz(func(t *testing.T, lines string) {
		args := strings.Split(lines, "\n")
		for _, op := range []*service.Operation{lookup, search} {
			for _, method := range op.Methods {
				members, _, err := op.Arguments(method, "Acme", nil, args)
				if err == nil {
					_, err = op.Check(service.Form{Method: method}, members, "Acme")
				}
				if _, ok := errors.AsType[*service.InputError](err); err != nil && !ok {
					t.Errorf("%T %v", err, err)
				}
			}
		}
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
