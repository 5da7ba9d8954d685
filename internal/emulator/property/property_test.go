package property

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/service"
	"syncd/internal/emulator/testclient"
)

func start(t *testing.T, prefix string) (base string) {
	t.Helper()
	return testclient.Start(t, New(service.Config{CustomerID: testclient.ID, Prefix: prefix, World: gazetteer.New()}))
}

var world = gazetteer.New()

func TestLookupPropertyFinds(t *testing.T) {
	base := start(t, "Provider")
	for _, row := range []struct {
		name  string
		pairs []string
	}{
		{"mak", []string{"mak", "4400112233"}},
		{"address key", []string{"addresskey", "66999120512"}},
		{"parcel", []string{"fips", "20999", "apn", "14-220-07"}},
		{"parcel without dashes", []string{"fips", "20999", "apn", "1422007"}},
		{"account", []string{"fips", "20999", "account", world.ByMAK("4400112233").Parcel.Account}},
		{"free form", []string{"ff", "12 larkspur way elmstead"}},
		{"line and postal code", []string{"a1", "12 Larkspur Way", "postal", "66999-1205"}},
		{"line, city and state", []string{"a1", "12 LARKSPUR WAY", "city", "Elmstead", "state", "KS"}},
		{"a remark in line two", []string{"a1", "12 Larkspur Way", "a2", "back door", "postal", "66999"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			rows := testclient.Rows(t, testclient.Query(t, base+"/LookupProperty", row.pairs...))
			if len(rows) != 1 || testclient.At(rows[0], "Results") != foundCodes || testclient.At(rows[0], "PropertyAddress.MAK") != "4400112233" {
				t.Fatalf("%v", rows)
			}
			for path, want := range map[string]string{
				"Parcel.FormattedAPN": "14-220-07", "Parcel.UnformattedAPN": "1422007", "Parcel.County": "Quill",
				"PrimaryOwner.Name1Full": "Ada Quill", "CurrentDeed.SecondMortgageAmount": "",
				"SaleInfo.DeedLastSalePrice": "315000", "SaleInfo.DeedLastSaleDate": "20240514",
				"PropertyAddress.Latitude": "38.104220", "PropertyAddress.Longitude": "-97.551870",
				"Shape": "map[]", "ExtBuildings": "map[]",
			} {
				if got := testclient.At(rows[0], path); got != want {
					t.Errorf("%s: %q, want %q", path, got, want)
				}
			}
		})
	}
}

func TestLookupPropertyLine2IsAUnit(t *testing.T) {
	base := start(t, "Provider")
	rows := testclient.Rows(t, testclient.Query(t, base+"/LookupProperty", "a1", "40 Teasel Ct", "a2", "Apt 3", "postal", "66999"))
	if got := testclient.At(rows[0], "PropertyAddress.Address"); got != "40 Teasel Ct Apt 3" {
		t.Errorf("%s", got)
	}
}

func TestLookupPropertyFindsNothing(t *testing.T) {
	base := start(t, "Provider")
	box := world.MatchFreeForm("PO Box 1 Elmstead")
	for name, mak := range map[string]string{"unknown": "4400999999", "a PO box": box.MAK} {
		a := testclient.Query(t, base+"/LookupProperty", "mak", mak)
		rows := testclient.Rows(t, a)
		if len(rows) != 1 || testclient.At(rows[0], "Results") != "" || testclient.At(rows[0], "Parcel") != "map[]" {
			t.Errorf("%s: %s", name, a.Text)
		}
	}
}

func TestLookupPropertyColumns(t *testing.T) {
	base := start(t, "Vendor")
	for _, row := range []struct{ name, columns, filled string }{
		{"the usual", "", strings.Join(defaultGroups, " ")},
		{"groups", "GrpShape, grpprimaryowner", "PrimaryOwner Shape"},
		{"tax brings the use", "GrpTax", "Tax PropertyUseInfo"},
		{"one column", "YearBuilt", "PropertyUseInfo"},
		{"one of two groups", "WellKnownText,GrpPool", "Pool Shape"},
		{"the vendor's", "VendorIdentityKey1", "PrimaryOwner"},
		{"unknown", "GrpNone", ""},
	} {
		record := testclient.Rows(t, testclient.Query(t, base+"/LookupProperty", "mak", "4400112233", "cols", row.columns))[0]
		want := map[string]bool{}
		for group := range strings.FieldsSeq(row.filled) {
			want[group] = true
		}
		for _, g := range propertyGroups {
			members, ok := record[g.name].(testclient.Object)
			if !ok || len(members) > 0 != want[g.name] {
				t.Errorf("%s: %s is %v", row.name, g.name, record[g.name])
			}
		}
	}
}

func TestLookupPropertyAllGroups(t *testing.T) {
	base := start(t, "Provider")
	record := testclient.Rows(t, testclient.Query(t, base+"/LookupProperty", "mak", "4400112233", "cols", "GrpAll"))[0]
	for _, g := range propertyGroups {
		members, _ := record[g.name].(testclient.Object)
		if want := len(strings.Fields(g.columns)); g.name != "Shape" && len(members) != want {
			t.Errorf("%s has %d members, want %d", g.name, len(members), want)
		}
		for name, v := range members {
			if _, ok := v.(string); !ok {
				t.Errorf("%s.%s is no string: %v", g.name, name, v)
			}
		}
	}
	if len(record["Shape"].(testclient.Object)) != 0 {
		t.Error("the answer has a shape that was not requested")
	}
}

// A parcel with a member that its group lacks would panic.
func TestEveryParcelFitsColumns(t *testing.T) {
	for _, a := range world.Addresses() {
		if a.Parcel == nil {
			continue
		}
		for _, described := range []bool{false, true} {
			v := view{prefix: "Provider", address: a, parcel: a.Parcel, described: described, latestMortgage: described}
			if n := len(v.groups("GrpAll,GrpShape")); n != len(propertyGroups) {
				t.Errorf("%s has %d groups", a.OneLine(), n)
			}
		}
		for _, d := range a.Parcel.Deeds {
			deedRow(d, selectColumns("GrpAll"))
		}
	}
}

func TestLookupPropertyOptions(t *testing.T) {
	base := start(t, "Provider")
	text := func(opt, path string) string {
		a := testclient.Query(t, base+"/LookupProperty", "mak", "4400112233", "opt", opt, "cols", "GrpAll")
		return testclient.At(testclient.Rows(t, a)[0], path)
	}
	if got := text("", "PropertyUseInfo.PropertyUseStandardized"); got != "1001" {
		t.Errorf("code %q", got)
	}
	if got := text("Desc:on,LatestMortgage:On", "PropertyUseInfo.PropertyUseStandardized"); got != "Single family residence" {
		t.Errorf("text %q", got)
	}
}

func TestLatestMortgage(t *testing.T) {
	base := start(t, "Provider")
	for _, a := range world.Addresses() {
		p := a.Parcel
		if p == nil || len(p.Deeds) < 2 || p.Deeds[0].Lender != "" || p.Deeds[1].Lender == "" {
			continue
		}
		lender := func(opt string) string {
			record := testclient.Rows(t, testclient.Query(t, base+"/LookupProperty", "mak", a.MAK, "opt", opt))[0]
			return testclient.At(record, "CurrentDeed.LenderName")
		}
		if off, on := lender("LatestMortgage:Off"), lender("LatestMortgage:On"); off != "" || on != p.Deeds[1].Lender {
			t.Errorf("off %q, on %q, want %q", off, on, p.Deeds[1].Lender)
		}
		return
	}
	t.Error("no parcel shows the difference")
}

func TestLookupPropertyBatch(t *testing.T) {
	base := start(t, "Provider")
	body := `{"CustomerId":"` + testclient.ID + `","TransmissionReference":"p-2","TotalRecords":"3","Columns":"GrpParcel","Records":[` +
		`{"RecordID":"a","AddressLine1":"12 Larkspur Way","PostalCode":"66999"},{"RecordID":"b","MAK":"1"},{"RecordID":"c","FreeForm":"40 teasel ct apt 3"}]}`
	a := testclient.Submit(t, base+"/LookupProperty", testclient.JSON, body)
	o := testclient.Decoded(t, a)
	if o["TransmissionReference"] != "p-2" || o["TransmissionResults"] != "" || o["TotalRecords"] != 3.0 {
		t.Errorf("%s", a.Text)
	}
	var got []string
	for _, r := range testclient.Rows(t, a) {
		got = append(got, testclient.At(r, "RecordID")+" "+testclient.At(r, "Results")+" "+testclient.At(r, "Parcel.UnformattedAPN"))
	}
	if s := strings.Join(got, "; "); s != "a YS02,YS04 1422007; b  <nil>; c YS02,YS04 1423203" {
		t.Errorf("%s", s)
	}
}

func TestLookupPropertyXML(t *testing.T) {
	base := start(t, "Provider")
	body := `<LookupPropertyRequest><TransmissionReference>x</TransmissionReference><CustomerId>` + testclient.ID + `</CustomerId>` +
		`<Columns>GrpParcel</Columns><Records><Record><RecordID>a</RecordID><MAK>4400112233</MAK></Record></Records></LookupPropertyRequest>`
	for name, a := range map[string]testclient.Answer{
		"post": testclient.Submit(t, base+"/LookupProperty", "application/xml", body),
		"get":  testclient.Query(t, base+"/LookupProperty", "mak", "4400112233", "cols", "GrpParcel", "format", "XML", "t", "x"),
	} {
		var got struct {
			XMLName   xml.Name
			Reference string `xml:"TransmissionReference"`
			Total     int    `xml:"TotalRecords"`
			APN       string `xml:"Records>Record>Parcel>FormattedAPN"`
			Tax       []struct {
				Inner string `xml:",innerxml"`
			} `xml:"Records>Record>Tax"`
		}
		if err := xml.Unmarshal([]byte(a.Text), &got); err != nil {
			t.Fatalf("%s: %v: %s", name, err, a.Text)
		}
		if got.XMLName != (xml.Name{Space: space, Local: "LookupPropertyResponse"}) || got.Reference != "x" || got.Total != 1 ||
			got.APN != "14-220-07" || len(got.Tax) != 1 || got.Tax[0].Inner != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestLookupPropertyRefuses(t *testing.T) {
	base := start(t, "Provider")
	for _, row := range []struct{ name, records, code string }{
		{"no record", "", "GE02"},
		{"too many", strings.Repeat(`{"MAK":"1"},`, 100) + `{"MAK":"1"}`, "GE03"},
	} {
		a := testclient.Submit(t, base+"/LookupProperty", testclient.JSON,
			`{"CustomerId":"`+testclient.ID+`","Records":[`+row.records+`]}`)
		if o := testclient.Decoded(t, a); o["TransmissionResults"] != row.code || len(testclient.Rows(t, a)) != 0 {
			t.Errorf("%s: %s", row.name, a.Text)
		}
	}
}

func TestMinimumInputs(t *testing.T) {
	base := start(t, "Provider")
	for _, row := range []struct {
		name, operation string
		pairs           []string
		faulty          string
	}{
		{"nothing", "LookupProperty", nil, "a1"},
		{"county only", "LookupProperty", []string{"fips", "20999"}, "apn"},
		{"parcel only", "LookupProperty", []string{"apn", "1"}, "fips"},
		{"account only", "LookupProperty", []string{"account", "R1"}, "fips"},
		{"line only", "LookupProperty", []string{"a1", "12 Larkspur Way"}, "postal"},
		{"line and city", "LookupProperty", []string{"a1", "12 Larkspur Way", "city", "Elmstead"}, "postal"},
		{"short address key", "LookupProperty", []string{"addresskey", "6699912"}, "addresskey"},
		{"deeds of nothing", "LookupDeeds", nil, "mak"},
		{"deeds of a county", "LookupDeeds", []string{"fips", "20999"}, "apn"},
		{"deeds of a number", "LookupDeeds", []string{"apn", "1"}, "fips"},
		{"page is a word", "LookupDeeds", []string{"mak", "4400112233", "opt", "Page:two"}, "opt"},
		{"homes without an owner", "LookupHomesByOwner", nil, "mak"},
	} {
		t.Run(row.name, func(t *testing.T) {
			testclient.WantFaulty(t, testclient.Query(t, base+"/"+row.operation, row.pairs...), row.faulty)
		})
	}
	testclient.WantFaulty(t, testclient.Submit(t, base+"/LookupProperty", testclient.JSON,
		`{"CustomerId":"`+testclient.ID+`","Records":[{"MAK":"1"},{"AddressLine1":"12 Larkspur Way"}]}`),
		"$.Records[1].PostalCode")
}

func TestLookupDeeds(t *testing.T) {
	base := start(t, "Provider")
	var parcel = world.ByMAK("4400112233").Parcel
	for _, a := range world.Addresses() {
		if a.Parcel != nil && len(a.Parcel.Deeds) == 4 {
			parcel = a.Parcel
		}
	}
	dates := func(opt string) (total float64, found []string) {
		a := testclient.Query(t, base+"/LookupDeeds", "fips", parcel.FIPS, "apn", parcel.APN, "opt", opt, "cols", "GrpAll")
		o := testclient.Decoded(t, a)
		if o["Results"] != foundCodes || o["TransactionID"] != "" {
			t.Errorf("%s: %s", opt, a.Text)
		}
		for _, r := range testclient.Rows(t, a) {
			if testclient.At(r, "PropertyAddress") != "map[]" || len(r) != len(deedGroups) {
				t.Errorf("%s: record %v", opt, r)
			}
			found = append(found, testclient.At(r, "DocInfo.InstrumentDate"))
		}
		return o["TotalRecords"].(float64), found
	}
	var all []string
	for _, d := range parcel.Deeds {
		all = append(all, compact(d.Date))
	}
	for _, row := range []struct {
		opt  string
		want []string
	}{
		{"", all[:1]},
		{"page:1", all[:1]},
		{"Page:4", all[3:]},
		{"Page:5", nil},
		{"Page:1,RecordsPerPage:10", all},
		{"Page:2, RecordsPerPage:3", all[3:]},
		{"RecordsPerPage:0", nil},
		{"RecordsPerPage:1000", all},
		{"Page:0", all[:1]},
	} {
		if total, got := dates(row.opt); fmt.Sprint(got) != fmt.Sprint(row.want) || total != 4 {
			t.Errorf("%q: %v of %v, want %v", row.opt, got, total, row.want)
		}
	}
}

func TestLookupDeedsForms(t *testing.T) {
	base := start(t, "Provider")
	base += "/LookupDeeds"
	body := `{"CustomerId":"` + testclient.ID + `","PropertyMAK":"4400112233"}`
	xmlBody := `<LookupDeedsRequest><CustomerId>` + testclient.ID + `</CustomerId><FreeForm>12 Larkspur Way Elmstead</FreeForm></LookupDeedsRequest>`
	for name, a := range map[string]testclient.Answer{
		"mak":       testclient.Query(t, base, "mak", "4400112233"),
		"free form": testclient.Query(t, base, "ff", "12 Larkspur Way"),
		"json":      testclient.Submit(t, base, testclient.JSON, body),
		"xml":       testclient.Submit(t, base, "application/xml", xmlBody),
	} {
		if a.StatusCode != 200 || !strings.Contains(a.Text, "20240514") || !strings.Contains(a.Text, "Ada Quill") {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.Text)
		}
	}
	a := testclient.Query(t, base, "mak", "1")
	if o := testclient.Decoded(t, a); o["Results"] != "" || o["TotalRecords"] != 0.0 || len(testclient.Rows(t, a)) != 0 {
		t.Errorf("unknown: %s", a.Text)
	}
}

func TestLookupHomesByOwner(t *testing.T) {
	base := start(t, "Provider")
	homes := base + "/LookupHomesByOwner"
	for name, a := range map[string]testclient.Answer{
		"mak":       testclient.Query(t, homes, "mak", "4400112233"),
		"free form": testclient.Query(t, homes, "ff", "12 Larkspur Way, Elmstead KS"),
		"json":      testclient.Submit(t, homes, testclient.JSON, `{"CustomerId":"`+testclient.ID+`","OwnerMAK":"4400112233"}`),
	} {
		o, rows := testclient.Decoded(t, a), testclient.Rows(t, a)
		if len(rows) != 3 || o["TotalRecords"] != 3.0 || o["Results"] != foundCodes {
			t.Fatalf("%s: %s", name, a.Text)
		}
		for _, r := range rows {
			property := testclient.Rows(t, testclient.Query(t, base+"/LookupProperty", "mak", testclient.At(r, "MAK"), "cols", "GrpAll"))[0]
			if testclient.At(property, "OwnerAddress.MAK") != "4400112233" || testclient.At(property, "PropertyAddress.Address") != testclient.At(r, "PropertyAddress") {
				t.Errorf("%s: %v is not the owner's", name, r)
			}
		}
	}
	if a := testclient.Query(t, homes, "mak", "1"); len(testclient.Rows(t, a)) != 0 {
		t.Errorf("unknown: %s", a.Text)
	}
}
