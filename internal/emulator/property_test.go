package emulator

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// object is a decoded JSON object.
type object = map[string]any

// query asks an operation by GET, with the id and pairs of names and values.
func query(t *testing.T, address string, pairs ...string) answer {
	t.Helper()
	values := url.Values{"id": {testID}}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return send(t, http.MethodGet, address+"?"+values.Encode())
}

// submit asks an operation by POST, with a body of the media type kind, which
// the answer should have as well.
func submit(t *testing.T, address, kind, body string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Accept", kind)
	resp, err := client(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp, string(b), err}
}

// decoded is the JSON object of an answer that must be 200.
func decoded(t *testing.T, a answer) object {
	t.Helper()
	if a.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	var o object
	if err := json.Unmarshal([]byte(a.body), &o); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return o
}

// rowsOf are the records of an answer.
func rowsOf(t *testing.T, a answer) []object {
	t.Helper()
	all, ok := decoded(t, a)["Records"].([]any)
	if !ok {
		t.Fatalf("no array of records: %s", a.body)
	}
	rows := make([]object, len(all))
	for i := range all {
		rows[i], _ = all[i].(object)
	}
	return rows
}

// at finds a text in an object by keys between dots.
func at(o object, path string) string {
	var v any = o
	for key := range strings.SplitSeq(path, ".") {
		inner, ok := v.(object)
		if !ok {
			return "no " + path
		}
		v = inner[key]
	}
	return fmt.Sprint(v)
}

// wantFaulty checks a 400 and the one input that it names.
func wantFaulty(t *testing.T, a answer, name string) {
	t.Helper()
	var p titleShape
	if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.StatusCode != http.StatusBadRequest || len(p.Errors[name]) != 1 {
		t.Errorf("%d %s, want 400 for %s", a.StatusCode, a.body, name)
	}
}

func TestLookupPropertyFinds(t *testing.T) {
	e := start(t, Config{})
	for _, row := range []struct {
		name  string
		pairs []string
	}{
		{"mak", []string{"mak", "4400112233"}},
		{"address key", []string{"addresskey", "66999120512"}},
		{"parcel", []string{"fips", "20999", "apn", "14-220-07"}},
		{"parcel without dashes", []string{"fips", "20999", "apn", "1422007"}},
		{"account", []string{"fips", "20999", "account", e.world.ByMAK("4400112233").Parcel.Account}},
		{"free form", []string{"ff", "12 larkspur way elmstead"}},
		{"line and postal code", []string{"a1", "12 Larkspur Way", "postal", "66999-1205"}},
		{"line, city and state", []string{"a1", "12 LARKSPUR WAY", "city", "Elmstead", "state", "KS"}},
		{"a remark in line two", []string{"a1", "12 Larkspur Way", "a2", "back door", "postal", "66999"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			rows := rowsOf(t, query(t, e.PropertyURL()+"/LookupProperty", row.pairs...))
			if len(rows) != 1 || at(rows[0], "Results") != foundCodes || at(rows[0], "PropertyAddress.MAK") != "4400112233" {
				t.Fatalf("%v", rows)
			}
			for path, want := range map[string]string{
				"Parcel.FormattedAPN": "14-220-07", "Parcel.UnformattedAPN": "1422007", "Parcel.County": "Quill",
				"PrimaryOwner.Name1Full": "Ada Quill", "CurrentDeed.SecondMortgageAmount": "",
				"SaleInfo.DeedLastSalePrice": "315000", "SaleInfo.DeedLastSaleDate": "20240514",
				"PropertyAddress.Latitude": "38.104220", "PropertyAddress.Longitude": "-97.551870",
				"Shape": "map[]", "ExtBuildings": "map[]",
			} {
				if got := at(rows[0], path); got != want {
					t.Errorf("%s: %q, want %q", path, got, want)
				}
			}
		})
	}
}

func TestLookupPropertyLine2IsAUnit(t *testing.T) {
	e := start(t, Config{})
	rows := rowsOf(t, query(t, e.PropertyURL()+"/LookupProperty", "a1", "40 Teasel Ct", "a2", "Apt 3", "postal", "66999"))
	if got := at(rows[0], "PropertyAddress.Address"); got != "40 Teasel Ct Apt 3" {
		t.Errorf("%s", got)
	}
}

func TestLookupPropertyFindsNothing(t *testing.T) {
	e := start(t, Config{})
	box := e.world.MatchFreeForm("PO Box 1 Elmstead")
	for name, mak := range map[string]string{"unknown": "4400999999", "a PO box": box.MAK} {
		a := query(t, e.PropertyURL()+"/LookupProperty", "mak", mak)
		rows := rowsOf(t, a)
		if len(rows) != 1 || at(rows[0], "Results") != "" || at(rows[0], "Parcel") != "map[]" {
			t.Errorf("%s: %s", name, a.body)
		}
	}
}

func TestLookupPropertyColumns(t *testing.T) {
	e := start(t, Config{Prefix: "Vendor"})
	for _, row := range []struct{ name, columns, filled string }{
		{"the usual", "", strings.Join(usualProperty, " ")},
		{"groups", "GrpShape, grpprimaryowner", "PrimaryOwner Shape"},
		{"tax brings the use", "GrpTax", "Tax PropertyUseInfo"},
		{"one column", "YearBuilt", "PropertyUseInfo"},
		{"one of two groups", "WellKnownText,GrpPool", "Pool Shape"},
		{"the vendor's", "VendorIdentityKey1", "PrimaryOwner"},
		{"unknown", "GrpNone", ""},
	} {
		record := rowsOf(t, query(t, e.PropertyURL()+"/LookupProperty", "mak", "4400112233", "cols", row.columns))[0]
		want := map[string]bool{}
		for group := range strings.FieldsSeq(row.filled) {
			want[group] = true
		}
		for _, g := range propertyGroups {
			members, ok := record[g.name].(object)
			if !ok || len(members) > 0 != want[g.name] {
				t.Errorf("%s: %s is %v", row.name, g.name, record[g.name])
			}
		}
	}
}

func TestLookupPropertyAllGroups(t *testing.T) {
	e := start(t, Config{})
	record := rowsOf(t, query(t, e.PropertyURL()+"/LookupProperty", "mak", "4400112233", "cols", "GrpAll"))[0]
	for _, g := range propertyGroups {
		members, _ := record[g.name].(object)
		if want := len(strings.Fields(g.columns)); g.name != "Shape" && len(members) != want {
			t.Errorf("%s has %d members, want %d", g.name, len(members), want)
		}
		for name, v := range members {
			if _, ok := v.(string); !ok {
				t.Errorf("%s.%s is no string: %v", g.name, name, v)
			}
		}
	}
	if len(record["Shape"].(object)) != 0 {
		t.Error("the shape came without being asked for")
	}
}

// Any parcel must fit the columns, or the emulator panics.
func TestLookupPropertyOfAllTheWorld(t *testing.T) {
	e := start(t, Config{})
	for _, a := range e.world.Addresses() {
		if a.Parcel == nil {
			continue
		}
		for _, described := range []bool{false, true} {
			view := propertyView{prefix: "Provider", address: a, parcel: a.Parcel, described: described, latestMortgage: described}
			if n := len(view.groups("GrpAll,GrpShape")); n != len(propertyGroups) {
				t.Errorf("%s has %d groups", a.OneLine(), n)
			}
		}
		for _, d := range a.Parcel.Deeds {
			deedRow(d, selectColumns("GrpAll"))
		}
	}
}

func TestLookupPropertyOptions(t *testing.T) {
	e := start(t, Config{})
	text := func(opt, path string) string {
		a := query(t, e.PropertyURL()+"/LookupProperty", "mak", "4400112233", "opt", opt, "cols", "GrpAll")
		return at(rowsOf(t, a)[0], path)
	}
	if got := text("", "PropertyUseInfo.PropertyUseStandardized"); got != "1001" {
		t.Errorf("code %q", got)
	}
	if got := text("Desc:on,LatestMortgage:On", "PropertyUseInfo.PropertyUseStandardized"); got != "Single family residence" {
		t.Errorf("text %q", got)
	}
}

func TestLatestMortgage(t *testing.T) {
	e := start(t, Config{})
	for _, a := range e.world.Addresses() {
		p := a.Parcel
		if p == nil || len(p.Deeds) < 2 || p.Deeds[0].Lender != "" || p.Deeds[1].Lender == "" {
			continue
		}
		lender := func(opt string) string {
			record := rowsOf(t, query(t, e.PropertyURL()+"/LookupProperty", "mak", a.MAK, "opt", opt))[0]
			return at(record, "CurrentDeed.LenderName")
		}
		if off, on := lender("LatestMortgage:Off"), lender("LatestMortgage:On"); off != "" || on != p.Deeds[1].Lender {
			t.Errorf("off %q, on %q, want %q", off, on, p.Deeds[1].Lender)
		}
		return
	}
	t.Error("no parcel shows the difference")
}

func TestLookupPropertyBatch(t *testing.T) {
	e := start(t, Config{})
	body := `{"CustomerId":"` + testID + `","TransmissionReference":"p-2","TotalRecords":"3","Columns":"GrpParcel","Records":[` +
		`{"RecordID":"a","AddressLine1":"12 Larkspur Way","PostalCode":"66999"},{"RecordID":"b","MAK":"1"},{"RecordID":"c","FreeForm":"40 teasel ct apt 3"}]}`
	a := submit(t, e.PropertyURL()+"/LookupProperty", "application/json", body)
	o := decoded(t, a)
	if o["TransmissionReference"] != "p-2" || o["TransmissionResults"] != "" || o["TotalRecords"] != 3.0 {
		t.Errorf("%s", a.body)
	}
	var got []string
	for _, r := range rowsOf(t, a) {
		got = append(got, at(r, "RecordID")+" "+at(r, "Results")+" "+at(r, "Parcel.UnformattedAPN"))
	}
	if s := strings.Join(got, "; "); s != "a YS02,YS04 1422007; b  <nil>; c YS02,YS04 1423203" {
		t.Errorf("%s", s)
	}
}

func TestLookupPropertyXML(t *testing.T) {
	e := start(t, Config{})
	body := `<LookupPropertyRequest><TransmissionReference>x</TransmissionReference><CustomerId>` + testID + `</CustomerId>` +
		`<Columns>GrpParcel</Columns><Records><Record><RecordID>a</RecordID><MAK>4400112233</MAK></Record></Records></LookupPropertyRequest>`
	for name, a := range map[string]answer{
		"post": submit(t, e.PropertyURL()+"/LookupProperty", "application/xml", body),
		"get":  query(t, e.PropertyURL()+"/LookupProperty", "mak", "4400112233", "cols", "GrpParcel", "format", "XML", "t", "x"),
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
		if err := xml.Unmarshal([]byte(a.body), &got); err != nil {
			t.Fatalf("%s: %v: %s", name, err, a.body)
		}
		if got.XMLName != (xml.Name{Space: nsProperty, Local: "LookupPropertyResponse"}) || got.Reference != "x" || got.Total != 1 ||
			got.APN != "14-220-07" || len(got.Tax) != 1 || got.Tax[0].Inner != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestLookupPropertyRefuses(t *testing.T) {
	e := start(t, Config{})
	for _, row := range []struct{ name, records, code string }{
		{"no record", "", "GE02"},
		{"too many", strings.Repeat(`{"MAK":"1"},`, 100) + `{"MAK":"1"}`, "GE03"},
	} {
		a := submit(t, e.PropertyURL()+"/LookupProperty", "application/json",
			`{"CustomerId":"`+testID+`","Records":[`+row.records+`]}`)
		if o := decoded(t, a); o["TransmissionResults"] != row.code || len(rowsOf(t, a)) != 0 {
			t.Errorf("%s: %s", row.name, a.body)
		}
	}
}

func TestPropertyNeedsInput(t *testing.T) {
	e := start(t, Config{})
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
		{"homes of nobody", "LookupHomesByOwner", nil, "mak"},
	} {
		t.Run(row.name, func(t *testing.T) {
			wantFaulty(t, query(t, e.PropertyURL()+"/"+row.operation, row.pairs...), row.faulty)
		})
	}
	wantFaulty(t, submit(t, e.PropertyURL()+"/LookupProperty", "application/json",
		`{"CustomerId":"`+testID+`","Records":[{"MAK":"1"},{"AddressLine1":"12 Larkspur Way"}]}`),
		"$.Records[1].PostalCode")
}

func TestLookupDeeds(t *testing.T) {
	e := start(t, Config{})
	var parcel = e.world.ByMAK("4400112233").Parcel
	for _, a := range e.world.Addresses() {
		if a.Parcel != nil && len(a.Parcel.Deeds) == 4 {
			parcel = a.Parcel
		}
	}
	dates := func(opt string) (total float64, found []string) {
		a := query(t, e.PropertyURL()+"/LookupDeeds", "fips", parcel.FIPS, "apn", parcel.APN, "opt", opt, "cols", "GrpAll")
		o := decoded(t, a)
		if o["Results"] != foundCodes || o["TransactionID"] != "" {
			t.Errorf("%s: %s", opt, a.body)
		}
		for _, r := range rowsOf(t, a) {
			if at(r, "PropertyAddress") != "map[]" || len(r) != len(deedGroups) {
				t.Errorf("%s: record %v", opt, r)
			}
			found = append(found, at(r, "DocInfo.InstrumentDate"))
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
	e := start(t, Config{})
	base := e.PropertyURL() + "/LookupDeeds"
	body := `{"CustomerId":"` + testID + `","PropertyMAK":"4400112233"}`
	xmlBody := `<LookupDeedsRequest><CustomerId>` + testID + `</CustomerId><FreeForm>12 Larkspur Way Elmstead</FreeForm></LookupDeedsRequest>`
	for name, a := range map[string]answer{
		"mak":       query(t, base, "mak", "4400112233"),
		"free form": query(t, base, "ff", "12 Larkspur Way"),
		"json":      submit(t, base, "application/json", body),
		"xml":       submit(t, base, "application/xml", xmlBody),
	} {
		if a.StatusCode != 200 || !strings.Contains(a.body, "20240514") || !strings.Contains(a.body, "Ada Quill") {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
	a := query(t, base, "mak", "1")
	if o := decoded(t, a); o["Results"] != "" || o["TotalRecords"] != 0.0 || len(rowsOf(t, a)) != 0 {
		t.Errorf("unknown: %s", a.body)
	}
}

func TestLookupHomesByOwner(t *testing.T) {
	e := start(t, Config{})
	base := e.PropertyURL() + "/LookupHomesByOwner"
	for name, a := range map[string]answer{
		"mak":       query(t, base, "mak", "4400112233"),
		"free form": query(t, base, "ff", "12 Larkspur Way, Elmstead KS"),
		"json":      submit(t, base, "application/json", `{"CustomerId":"`+testID+`","OwnerMAK":"4400112233"}`),
	} {
		o, rows := decoded(t, a), rowsOf(t, a)
		if len(rows) != 3 || o["TotalRecords"] != 3.0 || o["Results"] != foundCodes {
			t.Fatalf("%s: %s", name, a.body)
		}
		for _, r := range rows {
			property := rowsOf(t, query(t, e.PropertyURL()+"/LookupProperty", "mak", at(r, "MAK"), "cols", "GrpAll"))[0]
			if at(property, "OwnerAddress.MAK") != "4400112233" || at(property, "PropertyAddress.Address") != at(r, "PropertyAddress") {
				t.Errorf("%s: %v is not the owner's", name, r)
			}
		}
	}
	if a := query(t, base, "mak", "1"); len(rowsOf(t, a)) != 0 {
		t.Errorf("unknown: %s", a.body)
	}
}
