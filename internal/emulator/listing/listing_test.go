package listing

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/service"
	"syncd/internal/emulator/testclient"
)

// listAnswer is an answer of any of the three operations. The values of rows stay
// undecoded.
type listAnswer struct {
	Count           int
	Results, Sample []map[string]json.RawMessage
	Pagination      struct{ CurrentPage, NextPage, TotalPages int }
	JobID           string `json:"JobId"`
	ResultCode      string
	Message         string
}

func start(t *testing.T) (base string) {
	t.Helper()
	return testclient.Start(t, New(service.Config{CustomerID: testclient.ID, Prefix: "Provider", World: gazetteer.New()}))
}

// listBody returns a request with members.
func listBody(members string) string { return testclient.Body("CustomerID", ","+members) }

func lookup(t *testing.T, base string, group, members string, page int) testclient.Answer {
	t.Helper()
	return testclient.Submit(t, base+"/"+group+"/doLookup", testclient.JSON, listBody(fmt.Sprintf(`%s,"Pagination":{"Page":%d}`, members, page)))
}

func countOf(t *testing.T, base string, group, includes, excludes string) int {
	t.Helper()
	members := fmt.Sprintf(`"Includes":{%s},"Excludes":{%s}`, includes, excludes)
	a := testclient.Submit(t, base+"/"+group+"/doCount", testclient.JSON, listBody(members))
	got := testclient.Decoded(t, a)
	if got["ResultCode"] != "LS01" || got["Message"] != "Success" || len(got) != 4 {
		t.Errorf("%s", a.Text)
	}
	return int(got["Count"].(float64))
}

var listGroupNames = []string{"MAK", "NewMovers", "NewHomeowners", "Consumer", "ConsumerTwo", "Business"}

// everywhere includes all records of a group.
const everywhere = `"Zips":[{"Zip":"66999"},{"Zip":"66998"},{"Zip":"65997"},{"Zip":"65996"}]`

// The three operations of each group agree, and the pages hold each record once.
func TestOperationsOfGroupAgree(t *testing.T) {
	base := start(t)
	for _, group := range listGroupNames {
		t.Run(group, func(t *testing.T) {
			want := countOf(t, base, group, everywhere, "")
			members := `"Includes":{` + everywhere + `},"Columns":["ProviderAddressKey","AddressLine","Suite","FirstName","FirstName1","LastName","BirthYear1","PhoneNumber"]`
			var sample listAnswer
			testclient.Unmarshal(t, testclient.Submit(t, base+"/"+group+"/getCount", testclient.JSON, listBody(members)), &sample)
			if sample.Count != want || len(sample.Sample) != 10 || sample.ResultCode != "LS01" || sample.Message != "Success" {
				t.Errorf("getCount: %d of %d, %d in the sample", sample.Count, want, len(sample.Sample))
			}
			rows := map[string]bool{}
			total := 0
			for page := 1; page > 0; {
				var a listAnswer
				testclient.Unmarshal(t, lookup(t, base, group, members, page), &a)
				pages := (want + 99) / 100
				if a.Count != want || a.Pagination.CurrentPage != page || a.Pagination.TotalPages != pages || a.JobID != sample.JobID || a.JobID == "" {
					t.Fatalf("page %d: %d of %d, %+v, job %s", page, a.Count, want, a.Pagination, a.JobID)
				}
				if next := (page + 1) * min(1, pages-page); a.Pagination.NextPage != next {
					t.Errorf("page %d of %d: next %d", page, pages, a.Pagination.NextPage)
				}
				if page == 1 {
					if diff := cmp.Diff(sample.Sample, a.Results[:10]); diff != "" {
						t.Error(diff)
					}
				}
				for _, r := range a.Results {
					rows[fmt.Sprint(r)] = true
				}
				total += len(a.Results)
				page = a.Pagination.NextPage
			}
			if total != want || len(rows) != want {
				t.Errorf("%d rows, %d distinct, want %d", total, len(rows), want)
			}
		})
	}
	if n := countOf(t, base, "MAK", `"Zips":[{"Zip":"66999"}]`, ""); n <= 200 {
		t.Errorf("%d addresses do not fill three pages", n)
	}
}

func TestListSample(t *testing.T) {
	base := start(t)
	a := lookup(t, base, "NewHomeowners", `"Includes":{"Zips":[{"Zip":"66999","Plus4":"1205"}],
		"SellDate":{"StartDate":"2024-05-14","EndDate":"2024-05-14"}},"Excludes":{"State":["MO"]},
		"Columns":["provideraddresskey","BaseProviderAddressKey","AddressLine","PURCHASEPRICE","SellDate","LastName","RateType","Nonsense"],
		"OrderBy":[{"column":"SellDate","sortorder":"DESC"}]`, 1)
	want := `"Results":[{"provideraddresskey":4400112233,"BaseProviderAddressKey":null,"AddressLine":"12 Larkspur Way","PURCHASEPRICE":315,` +
		`"SellDate":"2024-05-14T00:00:00","LastName":"Quill","RateType":"","Nonsense":""}]`
	if !strings.HasPrefix(a.Text, `{"Count":1,`+want+`,"Pagination":{"CurrentPage":1,"NextPage":0,"TotalPages":1},"JobId":"job-`) ||
		!strings.HasSuffix(a.Text, `,"ResultCode":"LS01","Message":"Success"}`) {
		t.Errorf("%d %s", a.StatusCode, a.Text)
	}
}

func TestEmptyResult(t *testing.T) {
	base := start(t)
	a := lookup(t, base, "MAK", `"Includes":{"Zips":[{"Zip":"00000"}]},"Columns":["City"]`, 1)
	if !strings.Contains(a.Text, `"Count":0,"Results":[],"Pagination":{"CurrentPage":1,"NextPage":0,"TotalPages":0}`) || !strings.Contains(a.Text, "LS01") {
		t.Errorf("none: %s", a.Text)
	}
	a = lookup(t, base, "MAK", `"Includes":{`+everywhere+`},"Columns":["City"]`, 99)
	if !strings.Contains(a.Text, `"Results":[],"Pagination":{"CurrentPage":99,"NextPage":0,`) {
		t.Errorf("a page too far: %s", a.Text)
	}
}

func TestListFilters(t *testing.T) {
	base := start(t)
	all := map[string]int{}
	for _, g := range listGroupNames {
		all[g] = countOf(t, base, g, everywhere, "")
	}
	// The outer ring holds the sample's address only. The hole excludes it.
	outer := "(-97.55192 38.10417, -97.55182 38.10417, -97.55182 38.10427, -97.55192 38.10427, -97.55192 38.10417)"
	hole := "(-97.55188 38.10421, -97.55186 38.10421, -97.55186 38.10423, -97.55188 38.10423, -97.55188 38.10421)"
	tests := []struct {
		name               string
		group              string
		includes, excludes string
		want               int // -1: some, but not all
	}{
		{"zip", "MAK", `"Zips":[{"Zip":"65996"}]`, "", 48},
		{"zip and Plus4", "MAK", `"Zips":[{"zip":"66999","plus4":"1205"}]`, "", 15},
		{"zip and route", "MAK", `"Zips":[{"Zip":"66999","CarrierRoute":"C001"}]`, "", -1},
		{"city without case", "MAK", `"Cities":[{"City":"quillan","State":"mo"}]`, "", 48},
		{"city in another state", "MAK", `"Cities":[{"City":"Quillan","State":"KS"}]`, "", 0},
		{"radius of some metres", "MAK", `"Radius":{"Latitude":38.104220,"Longitude":-97.551870,"Distance":0.001}`, "", 1},
		{"radius of a city", "MAK", `"Radius":{"Latitude":38.451,"Longitude":-92.499,"Distance":1}`, "", 48},
		{"shape", "MAK", `"ShapeWKTs":["POLYGON(` + outer + `)"]`, "", 1},
		{"shape with a hole", "MAK", `"ShapeWKTs":["POLYGON (` + outer + `, ` + hole + `)"]`, "", 0},
		{"two shapes", "MAK", `"ShapeWKTs":["POLYGON(` + outer + `,` + hole + `)","polygon(` + hole + `)"]`, "", 1},
		{"all filters must hold", "MAK", `"Zips":[{"Zip":"66999"}],"Cities":[{"City":"Quillan","State":"MO"}]`, "", 0},
		{"RBDI", "MAK", everywhere + `,"RBDI":["B"]`, "", all["Business"]},
		{"RBDI of both", "MAK", everywhere + `,"RBDI":["B","R"]`, "", all["MAK"]},
		{"no RBDI", "MAK", everywhere, `"RBDI":["B"]`, all["MAK"] - all["Business"]},
		{"box", "MAK", everywhere + `,"POBoxStyleAddress":[true]`, "", 15},
		{"no box", "MAK", everywhere, `"POBoxStyleAddress":[true]`, all["MAK"] - 15},
		{"excluded zip", "MAK", everywhere, `"Zips":[{"Zip":"65996"}]`, all["MAK"] - 48},
		{"filters without values in the world", "MAK", everywhere + `,"Throwback":[true],"GeoLevel":["x"],"NoStatInd":[]`, `"DropInd":[false]`, all["MAK"]},
		{"state", "NewHomeowners", everywhere + `,"State":["KS"]`, "", -1},
		{"no state", "NewHomeowners", everywhere, `"State":["KS","MO"]`, 0},
		{"county", "NewHomeowners", everywhere + `,"FIPSCode":["20999","29997"]`, "", all["NewHomeowners"]},
		{"last name", "NewHomeowners", everywhere + `,"LastName":["QUILL"],"FirstName":["Ada"]`, "", 1},
		{"address key", "NewHomeowners", everywhere + `,"ProviderAddressKey":["4400112233"]`, "", 1},
		{"dates with slashes", "NewMovers", everywhere + `,"MoveEffectiveDate":{"StartDate":"2025/01/01","EndDate":"2025/12/31"}`, "", -1},
		{"all dates", "NewMovers", everywhere + `,"MoveEffectiveDate":{"StartDate":"1900-01-01","EndDate":"2100-01-01"}`, "", all["NewMovers"]},
		{"census key alone", "NewMovers", `"CensusKey":["209999501001000"]`, "", -1},
		{"previous city", "NewMovers", everywhere + `,"PreviousCities":["Quillan"]`, "", -1},
		{"integers without values in the world", "NewMovers", everywhere + `,"MoveDistanceCode":[1]`, "", all["NewMovers"]},
		{"ages", "Consumer", everywhere + `,"AgeRange":{"minimum":30,"maximum":40}`, "", -1},
		{"all ages", "Consumer", everywhere + `,"AgeRange":{"minimum":0,"maximum":120}`, "", all["Consumer"]},
		{"ages of women", "Consumer", everywhere + `,"AgeRangeFemale":{"minimum":0}`, "", -1},
		{"ages of an unknown gender", "Consumer", everywhere + `,"AgeRangeUnknownGender":{"minimum":0}`, "", 0},
		{"street", "ConsumerTwo", everywhere + `,"AddressStreetName":[{"ZipCode":"66999","Street":"Larkspur Way"}]`, "", -1},
		{"employees", "Business", everywhere + `,"LocationEmployeeCount":{"minimum":1,"maximum":1000}`, "", all["Business"]},
		{"too many employees", "Business", everywhere + `,"LocationEmployeeCount":{"minimum":100000}`, "", 0},
		{"years", "Business", everywhere + `,"EstimatedOpenedForBusiness":{"minimum":"1900","maximum":"2100"}`, "", all["Business"]},
		{"flag without values in the world", "Business", everywhere + `,"WorkAtHome":true`, "", all["Business"]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := countOf(t, base, tt.group, tt.includes, tt.excludes)
			if tt.want >= 0 && n != tt.want || tt.want < 0 && (n == 0 || n == all[tt.group]) {
				t.Errorf("%d of %d, want %d", n, all[tt.group], tt.want)
			}
		})
	}
}

func TestListOrder(t *testing.T) {
	base := start(t)
	var a listAnswer
	testclient.Unmarshal(t, lookup(t, base, "NewHomeowners", `"Includes":{`+everywhere+`},"Columns":["PurchasePrice","City"],
		"OrderBy":[{"column":"city","sortorder":"desc"},{"column":"PurchasePrice","sortorder":"ASC"}]`, 1), &a)
	type pair struct {
		city  string
		price int
	}
	var got []pair
	for _, r := range a.Results {
		var p pair
		if json.Unmarshal(r["City"], &p.city) != nil || json.Unmarshal(r["PurchasePrice"], &p.price) != nil {
			t.Fatalf("%s", r)
		}
		got = append(got, p)
	}
	sorted := slices.IsSortedFunc(got, func(a, b pair) int {
		if a.city != b.city {
			return strings.Compare(b.city, a.city)
		}
		return a.price - b.price
	})
	if len(got) != 100 || !sorted {
		t.Errorf("%d rows: %v", len(got), got)
	}
}

func TestListProblems(t *testing.T) {
	base := start(t)
	zip := `"Includes":{"Zips":[{"Zip":"66999"}]}`
	row := `,"Columns":["City"],"Pagination":{"Page":1}`
	tests := []struct {
		name, endpoint, members string
		faulty                  string // "" is accepted
	}{
		{"no includes", "MAK/doCount", `"Excludes":{}`, "$.Includes"},
		{"nothing of the minimum", "MAK/doCount", `"Includes":{"RBDI":["R"]}`, "$.Includes"},
		{"minimum empty", "MAK/doCount", `"Includes":{"Zips":[]}`, "$.Includes"},
		{"census key elsewhere", "NewHomeowners/doCount", `"Includes":{"CensusKey":["1"]}`, "$.Includes"},
		{"unknown member", "MAK/doCount", zip + `,"Colour":"red"`, "$.Colour"},
		{"transmission reference", "MAK/doCount", zip + `,"TransmissionReference":"1"`, "$.TransmissionReference"},
		{"columns in doCount", "MAK/doCount", zip + `,"Columns":["City"]`, "$.Columns"},
		{"columns in doCount of homeowners", "NewHomeowners/doCount", zip + `,"Columns":["City"]`, ""},
		{"members without case", "MAK/doLookup", `"INCLUDES":{"zips":[{"ZIP":"66999"}]},"columns":["City"],"pagination":{"page":1}`, ""},
		{"page in getCount", "MAK/getCount", zip + row, "$.Pagination"},
		{"no columns", "MAK/getCount", zip, "$.Columns"},
		{"empty columns", "MAK/doLookup", zip + `,"Columns":[],"Pagination":{"Page":1}`, "$.Columns"},
		{"columns that are no array", "MAK/doLookup", zip + `,"Columns":"City","Pagination":{"Page":1}`, "$.Columns"},
		{"no page", "MAK/doLookup", zip + `,"Columns":["City"]`, "$.Pagination.Page"},
		{"page as a string", "MAK/doLookup", zip + `,"Columns":["City"],"Pagination":{"Page":"1"}`, "$.Pagination"},
		{"page 0", "MAK/doLookup", zip + `,"Columns":["City"],"Pagination":{"Page":0}`, "$.Pagination.Page"},
		{"wrong order", "MAK/doLookup", zip + row + `,"OrderBy":[{"column":"City","sortorder":"UP"}]`, "$.OrderBy[0].sortorder"},
		{"order of nothing", "MAK/doLookup", zip + row + `,"OrderBy":[{"sortorder":"ASC"}]`, "$.OrderBy[0].column"},
		{"filter of another group", "MAK/doCount", `"Includes":{"Zips":[{"Zip":"66999"}],"LastName":["Quill"]}`, "$.Includes.LastName"},
		{"radius to exclude", "MAK/doCount", zip + `,"Excludes":{"Radius":{"Latitude":1,"Longitude":1,"Distance":1}}`, "$.Excludes.Radius"},
		{"zips as strings", "MAK/doCount", `"Includes":{"Zips":["66999"]}`, "$.Includes.Zips"},
		{"zip without a zip", "MAK/doCount", `"Includes":{"Zips":[{"Plus4":"1205"}]}`, "$.Includes.Zips"},
		{"city without a state", "MAK/doCount", `"Includes":{"Cities":[{"City":"Elmstead"}]}`, "$.Includes.Cities"},
		{"radius as strings", "MAK/doCount", `"Includes":{"Radius":{"Latitude":"1","Longitude":"1","Distance":"1"}}`, "$.Includes.Radius"},
		{"radius without a distance", "MAK/doCount", `"Includes":{"Radius":{"Latitude":1,"Longitude":1}}`, "$.Includes.Radius"},
		{"open shape", "MAK/doCount", `"Includes":{"ShapeWKTs":["POLYGON((0 0, 1 0, 1 1, 0 1))"]}`, "$.Includes.ShapeWKTs"},
		{"no shape", "MAK/doCount", `"Includes":{"ShapeWKTs":["POINT(0 0)"]}`, "$.Includes.ShapeWKTs"},
		{"flag as a string", "MAK/doCount", zip[:len(zip)-1] + `,"BaseRecord":["true"]}`, "$.Includes.BaseRecord"},
		{"flag without an array", "MAK/doCount", zip[:len(zip)-1] + `,"BaseRecord":true}`, "$.Includes.BaseRecord"},
		{"no date", "NewMovers/doCount", zip[:len(zip)-1] + `,"MoveEffectiveDate":{"StartDate":"May"}}`, "$.Includes.MoveEffectiveDate"},
		{"age as a string", "Consumer/doCount", zip[:len(zip)-1] + `,"AgeRange":{"minimum":"1","maximum":"2"}}`, "$.Includes.AgeRange"},
		{"flag with an array", "Business/doCount", zip[:len(zip)-1] + `,"WorkAtHome":[true]}`, "$.Includes.WorkAtHome"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := testclient.Submit(t, base+"/"+tt.endpoint, testclient.JSON, listBody(tt.members))
			if tt.faulty == "" {
				testclient.Decoded(t, a)
				return
			}
			testclient.WantFaulty(t, a, tt.faulty)
		})
	}
}

// Each group has as many filters as docs/wire/list.md names.
func TestListFilterNames(t *testing.T) {
	want := map[string]int{"MAK": 19, "NewMovers": 43, "NewHomeowners": 32, "Consumer": 12, "ConsumerTwo": 7, "Business": 50}
	for _, g := range groups(service.Config{Prefix: "Provider", World: gazetteer.New()}) {
		if len(g.filters) != want[g.name] {
			t.Errorf("%s has %d filters", g.name, len(g.filters))
		}
	}
}

// Columns of each type of value, by group.
func TestListColumns(t *testing.T) {
	base := start(t)
	tests := []struct{ group, includes, columns, want string }{
		{"MAK", `"Zips":[{"Zip":"66998"}]`,
			`"AddressLine","Suite","AddressKey","Latitude","POBoxStyleAddress","CensusKey","BaseRecord","ZipIncludedIn3553"`,
			`{"AddressLine":"100 Main St","Suite":"","AddressKey":"66998210500","Latitude":"38.164900","POBoxStyleAddress":false,` +
				`"CensusKey":"209999502001000","BaseRecord":true,"ZipIncludedIn3553":""}`},
		{"NewHomeowners", `"Zips":[{"Zip":"66999"}],"LastName":["Quill"],"FirstName":["Ada"]`,
			`"FirstName","SellDate","PurchasePrice","TransactionType","Longitude"`,
			`{"FirstName":"Ada","SellDate":"2024-05-14T00:00:00","PurchasePrice":315,"TransactionType":"","Longitude":"-97.551870"}`},
		{"Consumer", `"Zips":[{"Zip":"66999","Plus4":"1205"}]`, `"RBDI","City","HomeOwnerRenterCode","CatOwnerInd"`,
			`{"RBDI":"R","City":"Elmstead","HomeOwnerRenterCode":"H","CatOwnerInd":""}`},
		{"ConsumerTwo", `"Zips":[{"Zip":"66999","Plus4":"1205"}]`, `"State","Gender2"`, `{"State":"KS","Gender2":""}`},
	}
	for _, tt := range tests {
		a := lookup(t, base, tt.group, `"Includes":{`+tt.includes+`},"Columns":[`+tt.columns+`]`, 1)
		if !strings.Contains(a.Text, `"Results":[`+tt.want) {
			t.Errorf("%s: %.500s", tt.group, a.Text)
		}
	}
}

// Each group fills its own columns.
func TestListColumnsWithValues(t *testing.T) {
	base := start(t)
	for group, columns := range map[string][]string{
		"MAK":           {"ProviderAddressKey", "AddressStreetName", "AddressStreetSuffix", "County", "CarrierRoute", "PlaceCode"},
		"NewMovers":     {"FullName", "MoveEffectiveDate", "PreviousProviderAddressKey", "PreviousAddressLine", "PreviousZIPCode", "PhoneNumber"},
		"NewHomeowners": {"LastName", "AddressLine", "ZIPCode", "Plus4", "PurchasePrice", "SellDate"},
		"Consumer":      {"FullName", "GenderCode", "BirthYear1", "Email", "HomeOwnerRenterCode"},
		"ConsumerTwo":   {"FirstName1", "Gender1", "Age1", "LastName"},
		"Business": {"Name", "PrimarySICCodeId", "NAICSCode1", "ContactFirstName", "LocationEmployeeCount", "LocationSalesVolume",
			"Website", "PhoneNumber", "MailingProviderAddresskey", "MailingAddressZIPCode", "MailingAddressLine", "Censuskey"},
	} {
		var got listAnswer
		testclient.Unmarshal(t, lookup(t, base, group, `"Includes":{`+everywhere+`},"Columns":["`+strings.Join(columns, `","`)+`"]`, 1), &got)
		for _, row := range got.Results[:5] {
			for _, name := range columns {
				if v := string(row[name]); v == `""` || v == "null" || v == "" {
					t.Errorf("%s: %s is %s", group, name, v)
				}
			}
		}
	}
}
