package reversegeo

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/service"
	"syncd/internal/emulator/testclient"
	"syncd/internal/emulator/wire"
)

func start(t *testing.T, prefix string) (base string) {
	t.Helper()
	return testclient.Start(t, New(service.Config{CustomerID: testclient.ID, Prefix: prefix, World: world}))
}

var world = gazetteer.New()

// larkspur are the coordinates of the sample's request.
var larkspur = []string{"lat", "38.1042", "long", "-97.5518"}

func with(pairs []string, more ...string) []string {
	return append(append([]string(nil), pairs...), more...)
}

func TestReverseLookupSample(t *testing.T) {
	base := start(t, "Provider")
	a := testclient.Query(t, base+"/doLookup", with(larkspur, "t", "rg-1", "dist", "2", "recs", "1",
		"opt", "IncludeApartments:On", "format", "json")...)
	want := `{"Version":"8.3.0.9001","TransmissionReference":"rg-1","TransmissionResults":"","Results":"GS07","TotalRecords":1,` +
		`"Records":[{"AddressLine1":"12 Larkspur Way","SuiteName":"","SuiteCount":"0","City":"Elmstead","State":"KS","PostalCode":"66999",` +
		`"AddressKey":"66999120512","Latitude":"38.104220","Longitude":"-97.551870","Distance":"0.004049",` +
		`"ProviderAddressKey":"4400112233","ProviderAddressKeyBase":"0"}]}`
	if a.StatusCode != http.StatusOK || a.Text != want {
		t.Errorf("%d\n%s, want\n%s", a.StatusCode, a.Text, want)
	}
}

func TestReverseLookupForms(t *testing.T) {
	base := start(t, "Vendor")
	json := `{"CustomerID":"` + testclient.ID + `","Latitude":"38.1042","Longitude":"-97.5518","MaxDistance":"","MaxRecords":"1"}`
	body := `<RequestArray><CustomerId>` + testclient.ID + `</CustomerId><Latitude>38.1042</Latitude><Longitude>-97.5518</Longitude>` +
		`<MaxRecords>1</MaxRecords></RequestArray>`
	get := with(larkspur, "recs", "1")
	for _, row := range []struct {
		name string
		a    testclient.Answer
		xml  bool
	}{
		{"get", testclient.Query(t, base+"/doLookup", get...), true},
		{"get json", testclient.Query(t, base+"/doLookup", with(get, "format", "JSON")...), false},
		{"other case", testclient.Query(t, strings.TrimSuffix(base, Path)+"/reversegeo/V3/WEB/reversegeocode/DoLookup", get...), true},
		{"post json", testclient.Submit(t, base+"/doLookup", testclient.JSON, json), false},
		{"post xml", testclient.Submit(t, base+"/doLookup", "application/xml", body), true},
	} {
		if !row.xml {
			if rows := testclient.Rows(t, row.a); len(rows) != 1 || testclient.At(rows[0], "VendorAddressKey") != "4400112233" {
				t.Errorf("%s: %s", row.name, row.a.Text)
			}
			continue
		}
		var got struct {
			XMLName xml.Name
			Results string   `xml:"Results"`
			Keys    []string `xml:"Records>ResponseRecord>VendorAddressKey"`
		}
		if err := xml.Unmarshal([]byte(row.a.Text), &got); err != nil {
			t.Fatalf("%s: %v: %s", row.name, err, row.a.Text)
		}
		if got.XMLName != (xml.Name{Space: space, Local: "ResponseArray"}) || got.Results != "GS07" || fmt.Sprint(got.Keys) != "[4400112233]" {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}

func TestReverseLookupBounds(t *testing.T) {
	base := start(t, "Provider")
	for _, row := range []struct {
		name  string
		pairs []string
		want  int
	}{
		{"defaults", nil, 100},
		{"more than allowed", []string{"recs", "500", "dist", "100"}, 100},
		{"empty", []string{"recs", "", "dist", ""}, 100},
		{"seven", []string{"recs", "7"}, 7},
		{"some twenty metres", []string{"dist", "0.0125"}, 2},
		{"nowhere", []string{"lat", "10", "long", "10"}, 0},
	} {
		a := testclient.Query(t, base+"/doLookup", with(larkspur, with([]string{"format", "json"}, row.pairs...)...)...)
		o, rows := testclient.Decoded(t, a), testclient.Rows(t, a)
		results := "GS07"
		if row.want == 0 {
			results = ""
		}
		if len(rows) != row.want || o["TotalRecords"] != float64(row.want) || o["Results"] != results {
			t.Errorf("%s: %d rows, %v, %v, want %d", row.name, len(rows), o["TotalRecords"], o["Results"], row.want)
		}
		last := ""
		for _, r := range rows {
			if d := testclient.At(r, "Distance"); d < last { // all below ten and of one length
				t.Errorf("%s: %s after %s", row.name, d, last)
			} else {
				last = d
			}
		}
	}
}

func TestReverseLookupOptions(t *testing.T) {
	base := start(t, "Provider")
	unit, lot := world.MatchFreeForm("40 Teasel Ct Apt 3"), world.MatchFreeForm("27 Larkspur Way")
	for _, row := range []struct {
		name, lat, long, opt string
		first                string
	}{
		{"units are left out", wire.Decimal(unit.Latitude), wire.Decimal(unit.Longitude), "", "40 Teasel Ct"},
		{"units", wire.Decimal(unit.Latitude), wire.Decimal(unit.Longitude), "IncludeApartments:On", "40 Teasel Ct Apt 3"},
		{"empty lots are left out", wire.Decimal(lot.Latitude), wire.Decimal(lot.Longitude), "IncludeEmptyLots:Off", "other"},
		{"empty lots", wire.Decimal(lot.Latitude), wire.Decimal(lot.Longitude), "includeemptylots:on,IncludeApartments:Off", "27 Larkspur Way"},
		{"undeliverable", wire.Decimal(lot.Latitude), wire.Decimal(lot.Longitude), "IncludeEmptyLots:On,IncludeUndeliverable:Off", "other"},
	} {
		r := testclient.Rows(t, testclient.Query(t, base+"/doLookup", "lat", row.lat, "long", row.long, "opt", row.opt, "format", "json", "recs", "1"))[0]
		got := strings.TrimSpace(testclient.At(r, "AddressLine1") + " " + testclient.At(r, "SuiteName"))
		if got != row.first && (row.first != "other" || got == lot.Line) {
			t.Errorf("%s: %s, want %s", row.name, got, row.first)
		}
		if row.name == "units" && testclient.At(r, "ProviderAddressKeyBase") != unit.BaseMAK {
			t.Errorf("base %s, want %s", testclient.At(r, "ProviderAddressKeyBase"), unit.BaseMAK)
		}
		if row.name == "units are left out" && testclient.At(r, "SuiteCount") != "8" {
			t.Errorf("suites %s", testclient.At(r, "SuiteCount"))
		}
	}
}

func TestInputsMustBeNumbers(t *testing.T) {
	base := start(t, "Provider")
	for _, row := range []struct {
		name, operation string
		pairs           []string
		faulty          string
	}{
		{"no latitude", "doLookup", []string{"long", "1"}, "lat"},
		{"no longitude", "doLookupPostalCodes", []string{"lat", "1"}, "long"},
		{"latitude is a word", "doLookup", []string{"lat", "north", "long", "1"}, "lat"},
		{"longitude is not finite", "doLookup", []string{"lat", "1", "long", "NaN"}, "long"},
		{"distance is a word", "doLookup", with(larkspur, "dist", "far"), "dist"},
		{"records is a word", "doLookupPostalCodes", with(larkspur, "recs", "all"), "recs"},
	} {
		t.Run(row.name, func(t *testing.T) {
			testclient.WantFaulty(t, testclient.Query(t, base+"/"+row.operation, row.pairs...), row.faulty)
		})
	}
	testclient.WantFaulty(t, testclient.Submit(t, base+"/doLookup", testclient.JSON,
		`{"CustomerId":"`+testclient.ID+`","Latitude":"x","Longitude":"1"}`), "$.Latitude")
	testclient.WantFaulty(t, testclient.Submit(t, base+"/doLookup", testclient.JSON,
		`{"CustomerId":"`+testclient.ID+`","Latitude":38.1,"Longitude":"1"}`), "$.Latitude")
}

func TestReversePostalCodes(t *testing.T) {
	base := start(t, "Provider")
	for _, row := range []struct {
		name, opt string
		first     string
		least     int
	}{
		{"postal codes", "", "66999 <nil>", 2},
		{"the same by name", "Level:PostalCode", "66999 <nil>", 2},
		{"carrier routes", "level:carrierroute", "66999 C001", 6},
		{"Plus4", "Level:Plus4", "66999-1205 C001", 20},
	} {
		rows := testclient.Rows(t, testclient.Query(t, base+"/doLookupPostalCodes", with(larkspur, "opt", row.opt, "format", "json")...))
		if len(rows) < row.least {
			t.Fatalf("%s: %d rows", row.name, len(rows))
		}
		if got := testclient.At(rows[0], "PostalCode") + " " + testclient.At(rows[0], "CarrierRoute"); got != row.first {
			t.Errorf("%s: %s first, want %s", row.name, got, row.first)
		}
		seen := map[string]bool{}
		for _, r := range rows {
			code := testclient.At(r, "PostalCode") + testclient.At(r, "CarrierRoute")
			if seen[code] {
				t.Errorf("%s: %s twice", row.name, code)
			}
			seen[code] = true
		}
	}
	rows := testclient.Rows(t, testclient.Query(t, base+"/doLookupPostalCodes", with(larkspur, "dist", "1", "format", "json")...))
	if len(rows) != 1 || testclient.At(rows[0], "City") != "Elmstead" {
		t.Errorf("within a mile: %v", rows)
	}
	rows = testclient.Rows(t, testclient.Query(t, base+"/doLookupPostalCodes", with(larkspur, "recs", "1", "format", "json")...))
	if len(rows) != 1 {
		t.Errorf("one record: %v", rows)
	}
	a := testclient.Query(t, base+"/doLookupPostalCodes", larkspur...)
	if !strings.Contains(a.Text, `<PostalResponseArray xmlns="urn:mdReverseGeoCode">`) || strings.Count(a.Text, "<PostalLookupResponseRecord>") != 2 {
		t.Errorf("%s", a.Text)
	}
}

// fromList calls doLookupFromList with members and with targets, in pairs of key
// and record id.
func fromList(t *testing.T, base string, members string, pairs ...string) testclient.Answer {
	t.Helper()
	var records []string
	for i := 0; i < len(pairs); i += 2 {
		records = append(records, fmt.Sprintf(`{"ProviderAddressKey":%q,"RecordID":%q}`, pairs[i], pairs[i+1]))
	}
	return testclient.Submit(t, base+"/doLookupFromList", testclient.JSON,
		`{"CustomerId":"`+testclient.ID+`",`+members+`"Records":[`+strings.Join(records, ",")+`]}`)
}

func TestReverseFromList(t *testing.T) {
	base := start(t, "Provider")
	depots := []string{"4400113355", "depot-b", "4400112299", "depot-a", "4400999999", "nowhere"}
	unit, far := world.MatchFreeForm("40 Teasel Ct Apt 3"), world.MatchFreeForm("2 River Rd Marlow Bend")
	for _, row := range []struct {
		name, members string
		pairs         []string
		want          string
	}{
		{"by key", `"ProviderAddressKey":"4400112233","MaxDistance":"10","MaxRecords":"","Options":"",`, depots, "depot-a depot-b"},
		{"by point", `"Latitude":"38.1648","Longitude":"-97.4918",`, depots, "depot-b depot-a"},
		{"the point is stronger", `"Latitude":"38.1648","Longitude":"-97.4918","ProviderAddressKey":"4400112233",`, depots, "depot-b depot-a"},
		{"one record", `"ProviderAddressKey":"4400112233","MaxRecords":"1",`, depots, "depot-a"},
		{"one mile", `"ProviderAddressKey":"4400112233","MaxDistance":"1",`, depots, "depot-a"},
		{"too far", `"ProviderAddressKey":"4400112233",`, []string{far.MAK, "far"}, ""},
		{"unknown origin", `"ProviderAddressKey":"1",`, depots, ""},
		{"a unit is left out", `"ProviderAddressKey":"4400112233",`, []string{unit.MAK, "unit"}, ""},
		{"a unit", `"ProviderAddressKey":"4400112233","Options":"IncludeApartments:On",`, []string{unit.MAK, "unit"}, "unit"},
		{"one target twice", `"ProviderAddressKey":"4400112233",`, []string{"4400112299", "x", "4400112299", "y"}, "x y"},
	} {
		a := fromList(t, base, row.members, row.pairs...)
		var got []string
		for _, r := range testclient.Rows(t, a) {
			got = append(got, testclient.At(r, "RecordID"))
		}
		if s := strings.Join(got, " "); s != row.want {
			t.Errorf("%s: %q, want %q: %s", row.name, s, row.want, a.Text)
		}
	}
}

func TestReverseFromListRefuses(t *testing.T) {
	base := start(t, "Provider")
	origin := `"ProviderAddressKey":"4400112233",`
	if o := testclient.Decoded(t, fromList(t, base, origin)); o["TransmissionResults"] != "GE02" {
		t.Errorf("no targets: %v", o)
	}
	var many []string
	for range 101 {
		many = append(many, "4400112299", "a")
	}
	if o := testclient.Decoded(t, fromList(t, base, origin, many...)); o["TransmissionResults"] != "GE03" {
		t.Errorf("too many targets: %v", o)
	}
	testclient.WantFaulty(t, fromList(t, base, `"Longitude":"1",`, "4400112299", "a"), "$.Latitude")
	testclient.WantFaulty(t, fromList(t, base, "", "4400112299", "a"), "$.Longitude")
	testclient.WantFaulty(t, fromList(t, base, origin, "4400112299", "a", "", "b"), "$.Records[1].ProviderAddressKey")
	testclient.WantFaulty(t, fromList(t, base, origin+`"MaxDistance":"far",`, "4400112299", "a"), "$.MaxDistance")
	if a := testclient.Query(t, base+"/doLookupFromList", larkspur...); a.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", a.StatusCode)
	}
}
