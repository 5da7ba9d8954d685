package autocomplete

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/service"
	"syncd/internal/emulator/testclient"
)

var config = service.Config{CustomerID: testclient.ID, Prefix: "Provider", World: gazetteer.New()}

func start(t *testing.T) (base string) {
	t.Helper()
	return testclient.Start(t, New(config))
}

// answer is a JSON answer that holds addresses.
type answer struct {
	ResultCode, ErrorString string
	Results                 []struct{ Address addressRecord }
}

// addressRecord holds the members of an address.
type addressRecord map[string]any

func (a addressRecord) text(name string) string {
	s, _ := a[name].(string)
	return s
}

// lines returns the addresses as one line each.
func (a answer) lines() []string {
	lines := []string{}
	for _, r := range a.Results {
		lines = append(lines, r.Address.text("Address"))
	}
	return lines
}

func complete(t *testing.T, base string, operation string, pairs ...string) answer {
	t.Helper()
	var a answer
	testclient.Unmarshal(t, testclient.Query(t, base+"/"+operation, append(pairs, "format", "json")...), &a)
	return a
}

func TestCompletionRecord(t *testing.T) {
	base := start(t)
	a := complete(t, base, "GlobalExpressFreeForm", "ff", "12 larksp elmstead", "country", "US", "maxRecords", "2")
	if a.ResultCode != "XS01" || a.ErrorString != "" || len(a.Results) != 1 {
		t.Fatalf("%+v", a)
	}
	got := a.Results[0].Address
	for _, name := range textMembers {
		if _, ok := got[name].(string); !ok {
			t.Errorf("%s is %v", name, got[name])
		}
	}
	if n := len(textMembers); n != 58 || len(got) != n+1 || got["DistanceFromPoint"] != 0.0 {
		t.Errorf("%d names, %d members, distance %v", n, len(got), got["DistanceFromPoint"])
	}
	for name, want := range map[string]string{
		"Address": "12 Larkspur Way, Elmstead, KS 66999-1205", "Address1": "12 Larkspur Way",
		"Address2": "Elmstead, KS 66999-1205", "Address3": "", "DeliveryAddress": "12 Larkspur Way", "DeliveryAddress1": "12 Larkspur Way",
		"CountryName": "United States Of America", "ISO3166_2": "US", "ISO3166_3": "USA", "ISO3166_N": "840",
		"AdministrativeArea": "KS", "SubAdministrativeArea": "Quill", "Locality": "Elmstead", "Thoroughfare": "Larkspur Way",
		"Premise": "12", "SubBuilding": "", "PostalCode": "66999-1205", "PostalCodePrimary": "66999", "PostalCodeSecondary": "1205",
		"CountrySubdivisionCode": "US-KS", "MAK": "4400112233", "BaseMAK": "", "Latitude": "38.104220", "Longitude": "-97.551870",
	} {
		if got.text(name) != want {
			t.Errorf("%s is %q, want %q", name, got.text(name), want)
		}
	}
}

func TestCompletions(t *testing.T) {
	base := start(t)
	tests := []struct {
		name      string
		operation string
		pairs     []string
		code      string
		lines     []string
	}{
		{"address", "GlobalExpressAddress", []string{"country", "USA", "address1", "12 lark", "postalcode", "66999"}, "XS01",
			[]string{"12 Larkspur Way, Elmstead, KS 66999-1205"}},
		{"address in another city", "GlobalExpressAddress", []string{"country", "US", "address1", "12 larkspur", "locality", "Larkford"}, "XS03", []string{}},
		{"address in its state", "GlobalExpressAddress", []string{"country", "United States", "address1", "12 larkspur", "locality", "ELMSTEAD",
			"administrativearea", "Kansas", "postalcode", "66999-1205"}, "XS01", []string{"12 Larkspur Way, Elmstead, KS 66999-1205"}},
		{"abroad", "GlobalExpressFreeForm", []string{"country", "DE", "ff", "12 larkspur"}, "XS03", []string{}},
		{"cities", "GlobalExpressLocalityAdministrativeArea", []string{"country", "US"}, "XS01",
			[]string{"Elmstead, KS", "Larkford, KS", "Marlow Bend, MO", "Quillan, MO"}},
		{"city by its beginning", "GlobalExpressLocalityAdministrativeArea", []string{"country", "US", "locality", "mar"}, "XS01", []string{"Marlow Bend, MO"}},
		{"cities of a state", "GlobalExpressLocalityAdministrativeArea", []string{"country", "US", "administrativearea", "mo"}, "XS01",
			[]string{"Marlow Bend, MO", "Quillan, MO"}},
		{"postal code", "GlobalExpressPostalCode", []string{"country", "US", "postalcode", "65997"}, "XS01", []string{"Marlow Bend, MO 65997"}},
		{"postal code with Plus4", "GlobalExpressPostalCode", []string{"country", "US", "postalcode", "66999-1205"}, "XS01", []string{"Elmstead, KS 66999"}},
		{"part of a postal code", "GlobalExpressPostalCode", []string{"country", "US", "postalcode", "659"}, "XS03", []string{}},
		{"street", "GlobalExpressThoroughfare", []string{"country", "US", "thoroughfare", "Har"}, "XS01",
			[]string{"N Harrow Ave, Elmstead, KS 66999", "S Harrow Ave, Elmstead, KS 66999"}},
		{"streets of a postal code", "GlobalExpressThoroughfare", []string{"country", "US", "postalcode", "65996"}, "XS01",
			[]string{"Main St, Quillan, MO 65996", "Quarry Ln, Quillan, MO 65996", "Chapel St, Quillan, MO 65996"}},
		{"street in a postal code", "GlobalExpressThoroughfare", []string{"country", "US", "postalcode", "65996", "thoroughfare", "main"}, "XS01",
			[]string{"Main St, Quillan, MO 65996"}},
		{"cut", "GlobalExpressThoroughfare", []string{"country", "US", "thoroughfare", "main", "maxrecords", "2"}, "XS02",
			[]string{"Main St, Elmstead, KS 66999", "Main St, Larkford, KS 66998"}},
		{"no more than asked", "GlobalExpressThoroughfare", []string{"country", "US", "thoroughfare", "main", "maxrecords", "3"}, "XS01",
			[]string{"Main St, Elmstead, KS 66999", "Main St, Larkford, KS 66998", "Main St, Quillan, MO 65996"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := complete(t, base, tt.operation, tt.pairs...)
			if diff := cmp.Diff(tt.lines, a.lines()); diff != "" || a.ResultCode != tt.code {
				t.Errorf("%s, want %s: %s", a.ResultCode, tt.code, diff)
			}
		})
	}
}

func TestCompletionLimits(t *testing.T) {
	base := start(t)
	for text, want := range map[string]int{"": 10, "3": 3, "100": 100, "5000": 100} {
		a := complete(t, base, "GlobalExpressFreeForm", "ff", "elmstead", "maxrecords", text)
		if len(a.Results) != want || a.ResultCode != "XS02" {
			t.Errorf("maxrecords %q: %d records, %s", text, len(a.Results), a.ResultCode)
		}
	}
	address := base + "/"
	for name, pairs := range map[string][]string{
		"maxrecords":   {"GlobalExpressFreeForm", "ff", "a", "maxrecords", "many"},
		"ff":           {"GlobalExpressFreeForm", "country", "US"},
		"address1":     {"GlobalExpressAddress", "country", "US"},
		"country":      {"GlobalExpressCountry", "t", "x"},
		"postalcode":   {"GlobalExpressPostalCode", "country", "US"},
		"thoroughfare": {"GlobalExpressThoroughfare", "country", "US"},
	} {
		testclient.WantFaulty(t, testclient.Query(t, address+pairs[0], pairs[1:]...), name)
	}
	testclient.WantFaulty(t, testclient.Query(t, address+"GlobalExpressThoroughfare", "thoroughfare", "ma"), "thoroughfare")
}

func TestSuiteCompression(t *testing.T) {
	base := start(t)
	units := complete(t, base, "GlobalExpressFreeForm", "ff", "18 sparrow ln apt", "suitecompression", "false")
	folded := complete(t, base, "GlobalExpressFreeForm", "ff", "18 sparrow ln apt")
	if len(units.Results) != 6 || len(folded.Results) != 1 {
		t.Fatalf("%d units, %d folded", len(units.Results), len(folded.Results))
	}
	var suites, plus4, keys []string
	for _, r := range units.Results {
		suites = append(suites, r.Address.text("SubBuilding"))
		plus4 = append(plus4, r.Address.text("PostalCodeSecondary"))
		keys = append(keys, r.Address.text("MAK"))
	}
	got := folded.Results[0].Address
	for name, list := range map[string][]string{"SubBuilding": suites, "PostalCodeSecondary": plus4, "MAK": keys} {
		if got.text(name) != strings.Join(list, ",") {
			t.Errorf("%s is %s, want %s", name, got.text(name), list)
		}
	}
	if suites[0] != "Apt 1" || got.text("BaseMAK") == "" || got.text("BaseMAK") != units.Results[0].Address.text("BaseMAK") {
		t.Errorf("units of %s, %v", got.text("BaseMAK"), suites)
	}
	if got.text("Address") != "18 Sparrow Ln, Larkford, KS 66998" {
		t.Errorf("folded into %s", got.text("Address"))
	}
}

func TestCompletionFilters(t *testing.T) {
	base := start(t)
	preferred := complete(t, base, "GlobalExpressFreeForm", "ff", "main 100", "filterterm", "zip", "filterlist", "65996")
	if lines := preferred.lines(); len(lines) != 3 || !strings.Contains(lines[0], "Quillan") || preferred.ResultCode != "XS01" {
		t.Errorf("zip: %s %v", preferred.ResultCode, lines)
	}
	near := complete(t, base, "GlobalExpressFreeForm", "ff", "main", "maxrecords", "100",
		"filterterm", "latlong", "filterlist", "38.45,-92.5", "sortType", "distance")
	var distances []float64
	for _, r := range near.Results {
		distances = append(distances, r.Address["DistanceFromPoint"].(float64))
	}
	if len(distances) < 50 || distances[0] == 0 || !slices.IsSorted(distances) || near.Results[0].Address.text("Locality") != "Quillan" {
		t.Errorf("by distance: %v", distances)
	}
	boxes := complete(t, base, "GlobalExpressFreeForm", "ff", "po box elmstead")
	if len(boxes.Results) != 8 || boxes.Results[0].Address.text("PostBox") != "PO Box 1" || boxes.Results[0].Address.text("Premise") != "" {
		t.Errorf("boxes: %v", boxes.lines())
	}
	if a := complete(t, base, "GlobalExpressFreeForm", "ff", "po box elmstead", "opt", "POBoxes:false"); a.ResultCode != "XS03" {
		t.Errorf("no boxes: %v", a.lines())
	}
	for code, pairs := range map[string][]string{
		"XS01,GW15":      {"filterterm", "zip", "filterlist", "66999", "sortType", "distance"},
		"XS01,GW12":      {"filterterm", "latlong", "filterlist", "here"},
		"XS01,GW10":      {"cols", "colour"},
		"XS01,GW11":      {"opt", "boxes:true"},
		"XS01,GW12 ":     {"opt", "poboxes:perhaps"},
		"XS01,GW10,GW11": {"opt", "boxes:true,bags:true", "cols", "a,b"},
	} {
		if a := complete(t, base, "GlobalExpressFreeForm", append(pairs, "ff", "12 larkspur")...); a.ResultCode != strings.TrimSpace(code) {
			t.Errorf("%v: %s, want %s", pairs, a.ResultCode, code)
		}
	}
}

func TestCompletionExtras(t *testing.T) {
	base := start(t)
	for cols, want := range map[string]string{
		"":                  "<nil>",
		"results":           "map[AddrObjectResultCode:AS01]",
		"GBExtras, results": "map[AddrObjectResultCode:AS01 UDPRN: UPRN:]",
	} {
		a := complete(t, base, "GlobalExpressFreeForm", "ff", "12 larkspur", "cols", cols)
		if got := fmt.Sprint(a.Results[0].Address["Extras"]); got != want {
			t.Errorf("%q: %s, want %s", cols, got, want)
		}
	}
}

func TestCountries(t *testing.T) {
	base := start(t)
	iceland := testclient.Object{"Country": "Iceland", "English": "Iceland", "Spanish": "Islandia", "French": "Islande", "German": "Island",
		"SimplifiedChinese": "冰岛", "Char2ISO": "IS", "Char3ISO": "ISL", "ISONumeric": "352"}
	for term, matched := range map[string]string{"ICEL": "Iceland", "slandia": "Islandia", "冰": "冰岛", "Island": "Islandia"} {
		a := testclient.Decoded(t, testclient.Query(t, base+"/GlobalExpressCountry", "country", term, "format", "json"))
		iceland["Country"] = matched
		if diff := cmp.Diff([]any{iceland}, a["Results"]); diff != "" || a["ResultCode"] != "XS01" {
			t.Errorf("%s: %v %s", term, a["ResultCode"], diff)
		}
	}
	a := testclient.Decoded(t, testclient.Query(t, base+"/GlobalExpressCountry", "country", "an"))
	if n := len(a["Results"].([]any)); n <= defaultRecords {
		t.Errorf("an: %d countries; there is no limit here", n)
	}
	a = testclient.Decoded(t, testclient.Query(t, base+"/GlobalExpressCountry", "country", "nowhere"))
	if diff := cmp.Diff([]any{}, a["Results"]); diff != "" || a["ResultCode"] != "XS03" {
		t.Errorf("nowhere: %v", a)
	}
}

func TestCompletionXML(t *testing.T) {
	base := start(t)
	a := testclient.Query(t, base+"/GlobalExpressFreeForm", "ff", "12 larkspur", "format", "XML", "cols", "results")
	var r struct {
		XMLName    xml.Name `xml:"ResponseGlobal"`
		ResultCode string
		Results    struct {
			ResultGlobal []struct {
				Address struct {
					Address, MAK, Latitude, Address12, DistanceFromPoint string
					Extras                                               struct{ AddrObjectResultCode string }
				}
			}
		}
	}
	testclient.Unmarshal(t, a, &r)
	if len(r.Results.ResultGlobal) != 1 || r.ResultCode != "XS01" {
		t.Fatal(a.Text)
	}
	got := r.Results.ResultGlobal[0].Address
	if got.Address != "12 Larkspur Way, Elmstead, KS 66999-1205" || got.MAK != "4400112233" || got.Extras.AddrObjectResultCode != "AS01" || got.DistanceFromPoint != "0" {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(a.Text, `<ResponseGlobal xmlns:i="http://www.w3.org/2001/XMLSchema-instance">`) {
		t.Errorf("%.200s", a.Text)
	}
	var c struct {
		XMLName xml.Name `xml:"Response"`
		Results struct {
			Result []struct{ Country, SimplifiedChinese string }
		}
	}
	testclient.Unmarshal(t, testclient.Query(t, base+"/GlobalExpressCountry", "country", "icel", "format", "xml"), &c)
	if len(c.Results.Result) != 1 || c.Results.Result[0].SimplifiedChinese != "冰岛" {
		t.Errorf("%+v", c)
	}
}

func TestJSONP(t *testing.T) {
	base := start(t)
	jsonp := testclient.Start(t, NewJSONP(config))
	plain := testclient.Query(t, base+"/GlobalExpressFreeForm", "ff", "12 larkspur")
	wrapped := testclient.Query(t, jsonp+"/GlobalExpressFreeForm", "ff", "12 larkspur", "format", "jsonp", "cols", "results")
	called := testclient.Query(t, jsonp+"/GlobalExpressFreeForm", "ff", "12 larkspur", "format", "json", "callback", "a.cb_7", "cols", "results")
	if got, want := called.Text, "a.cb_7("+plain.Text+");"; got != want {
		t.Errorf("called:\n%s, want\n%s", got, want)
	}
	if got := called.Header.Get("Content-Type"); got != "application/javascript; charset=utf-8" {
		t.Errorf("called: %s", got)
	}
	if got := wrapped.Header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		t.Errorf("wrapped: %s", got)
	}
	d := testclient.Decoded(t, wrapped)["d"].(testclient.Object)
	result := d["Results"].([]any)[0].(testclient.Object)
	address := result["Address"].(testclient.Object)
	if d["__type"] != "ResponseGlobal" || result["__type"] != "ResultGlobal" || address["__type"] != "AddressGlobal" {
		t.Errorf("types: %s", wrapped.Text)
	}
	for _, o := range []testclient.Object{d, result, address} {
		delete(o, "__type")
	}
	if diff := cmp.Diff(testclient.Decoded(t, plain), d); diff != "" {
		t.Error(diff)
	}
	countries := testclient.Query(t, jsonp+"/GlobalExpressCountry", "country", "icel")
	if !strings.HasPrefix(countries.Text, `{"d":{"Version":`) || strings.Contains(countries.Text, "__type") {
		t.Errorf("countries: %s", countries.Text)
	}
	refused := testclient.Send(t, http.MethodGet, jsonp+"/GlobalExpressCountry?country=x&callback=f")
	if refused.Text != `f({"Version":"9.0.0.9001","ResultCode":"GE04","ErrorString":"The Customer ID is empty.","Results":[]});` {
		t.Errorf("refused: %s", refused.Text)
	}
	testclient.WantFaulty(t, testclient.Query(t, jsonp+"/GlobalExpressCountry", "country", "x", "callback", "alert(1)//"), "callback")
	if !json.Valid([]byte(testclient.Query(t, jsonp+"/GlobalExpressFreeForm", "ff", "zzz").Text)) {
		t.Error("no match is not JSON")
	}
}
