package emulator

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// contributions are one acceptable request for each of the eleven forms.
var contributions = []struct {
	name   string // of the operation
	method string
	pairs  []string // of a query
	more   string   // of a body
	fields []ContributionField
}{
	{"addMAK", "GET", []string{"t", "job-1", "a1", "9 New Way", "a2", "", "loc", "Elmstead", "admarea", "KS", "postal", "66999",
		"ctry", "US", "lat", "38.1", "long", "-97.5", "respondTo", "gis@example.test"}, "", []ContributionField{
		{"TransmissionReference", "job-1"}, {"AddressLine1", "9 New Way"}, {"AddressLine2", ""}, {"Locality", "Elmstead"},
		{"AdministrativeArea", "KS"}, {"PostalCode", "66999"}, {"Country", "US"}, {"Latitude", "38.1"}, {"Longitude", "-97.5"},
		{"RespondToEmail", "gis@example.test"}}},
	{"addMAK", "POST", nil, `,"AddressLine1":"9 New Way","Locality":"Elmstead","AdministrativeArea":"KS","PostalCode":"66999",
		"Country":"US","Latitude":"38.1","Longitude":"-97.5","Organization":"Quill Ltd","reason":"New house"`, []ContributionField{
		{"AddressLine1", "9 New Way"}, {"Locality", "Elmstead"}, {"AdministrativeArea", "KS"}, {"PostalCode", "66999"},
		{"Country", "US"}, {"Latitude", "38.1"}, {"Longitude", "-97.5"}, {"Organization", "Quill Ltd"}, {"Reason", "New house"}}},
	{"changeGeoPoint", "GET", []string{"t", "job-17", "ctry", "US", "mak", "4400112233", "lat", "38.104220", "long", "-97.551870",
		"reason", "Pin was on the rail yard"}, "", []ContributionField{
		{"TransmissionReference", "job-17"}, {"Country", "US"}, {"ProviderAddressKey", "4400112233"}, {"Latitude", "38.104220"},
		{"Longitude", "-97.551870"}, {"Reason", "Pin was on the rail yard"}}},
	{"changeGeoPoint", "POST", nil, `,"ProviderAddressKey":"4400112233","Latitude":"38.1","Longitude":"-97.5"`, []ContributionField{
		{"ProviderAddressKey", "4400112233"}, {"Latitude", "38.1"}, {"Longitude", "-97.5"}}},
	{"changeMAK", "POST", nil, `,"ProviderAddressKey":"4400112233","Current":[{"Key":"City","Value":"Elmstead"}],
		"ChangeTo":[{"key":"City","value":null},{"Key":"State","Value":"KS"}]`, []ContributionField{
		{"Current.City", "Elmstead"}, {"ChangeTo.City", ""}, {"ChangeTo.State", "KS"}, {"ProviderAddressKey", "4400112233"}}},
	{"removeMAK", "GET", []string{"act", "Delete", "mak", "1"}, "", []ContributionField{{"Action", "Delete"}, {"ProviderAddressKey", "1"}}},
	{"removeMAK", "POST", nil, `,"Action":"suppression","ProviderAddressKey":"1"`, []ContributionField{
		{"Action", "suppression"}, {"ProviderAddressKey", "1"}}},
	{"addMIK", "POST", nil, `,"Add":[{"Key":"City","Value":"Elmstead"}]`, []ContributionField{{"Add.City", "Elmstead"}}},
	{"changeMIK", "POST", nil, `,"ProviderIdentityKey":"7","Current":[{"Key":"City","Value":"a"}],"ChangeTo":[{"Key":"City","Value":"b"}]`,
		[]ContributionField{{"Current.City", "a"}, {"ChangeTo.City", "b"}, {"ProviderIdentityKey", "7"}}},
	{"removeMIK", "GET", []string{"act", "cpadelete", "mik", "7"}, "", []ContributionField{
		{"Action", "cpadelete"}, {"ProviderIdentificationKey", "7"}}},
	{"removeMIK", "POST", nil, `,"Action":"cpalimit","ProviderIdentificationKey":"7"`, []ContributionField{
		{"Action", "cpalimit"}, {"ProviderIdentificationKey", "7"}}},
}

func TestContributionsAreQueued(t *testing.T) {
	e := start(t, Config{})
	for i, tt := range contributions {
		t.Run(tt.name+" "+tt.method, func(t *testing.T) {
			target := e.ContributionURL() + "/" + tt.name
			var a answer
			if tt.method == http.MethodGet {
				a = query(t, target, append(tt.pairs, "format", "xml")...) // format is not heeded
			} else {
				a = submit(t, target, jsonType, body("CustomerID", tt.more))
			}
			reference := ""
			if tt.fields[0].Name == transmissionReference {
				reference = tt.fields[0].Value
			}
			want := object{"Version": "8.4.0.9001", "TransmissionReference": reference, "TransmissionResults": "",
				"Results": "MS01", "Message": "Submission received and queued for review."}
			if diff := cmp.Diff(want, decoded(t, a)); diff != "" {
				t.Fatal(diff)
			}
			all := e.Contributions()
			last := all[len(all)-1]
			if len(all) != i+1 || last.Number != i+1 || last.Operation != tt.name || last.Method != tt.method || last.Time.IsZero() {
				t.Errorf("contribution %d: %+v", i+1, last)
			}
			if diff := cmp.Diff(tt.fields, last.Fields); diff != "" {
				t.Error(diff)
			}
		})
	}
	e.ResetRequests()
	if n := len(e.Contributions()); n != len(contributions) {
		t.Errorf("%d contributions, want %d", n, len(contributions))
	}
}

func TestContributionsAdministration(t *testing.T) {
	e := start(t, Config{})
	address := e.URL() + "/-/contributions"
	if a := send(t, http.MethodGet, address); a.body != "[]" {
		t.Errorf("none: %s", a.body)
	}
	query(t, e.ContributionURL()+"/removeMAK", "act", "delete", "mak", "1")
	a := send(t, http.MethodGet, address)
	var shown []Contribution
	if err := json.Unmarshal([]byte(a.body), &shown); err != nil || len(shown) != 1 || shown[0].Value("Action") != "delete" {
		t.Errorf("one: %s", a.body)
	}
	if strings.Contains(a.body, testID) {
		t.Error("the Customer ID is shown")
	}
	if a := send(t, http.MethodDelete, address); a.StatusCode != http.StatusNoContent || len(e.Contributions()) != 0 {
		t.Errorf("delete: %d", a.StatusCode)
	}
}

func TestContributionMinimumInputs(t *testing.T) {
	e := start(t, Config{})
	person := `"AddressLine1":"12 Larkspur Way","AddressLine2":"","City":"Elmstead","PostalCode":"66999","State":"KS"`
	tests := []struct {
		name      string
		operation string
		pairs     []string
		more      string
		faulty    []string // none: accepted
	}{
		{"addMAK without anything", "addMAK", []string{"t", "1"}, "", []string{"a1", "loc", "admarea", "postal", "ctry", "lat", "long"}},
		{"addMAK in a body", "addMAK", nil, `,"AddressLine1":"1 A St"`,
			[]string{"$.Locality", "$.AdministrativeArea", "$.PostalCode", "$.Country", "$.Latitude", "$.Longitude"}},
		{"latitude is no number", "changeGeoPoint", []string{"ctry", "US", "mak", "1", "lat", "north", "long", "1"}, "", []string{"lat"}},
		{"no country in a query", "changeGeoPoint", []string{"mak", "1", "lat", "1", "long", "1"}, "", []string{"ctry"}},
		{"no key", "changeGeoPoint", nil, `,"Latitude":"1","Longitude":"1"`, []string{"$.ProviderAddressKey"}},
		{"no lists", "changeMAK", nil, `,"ProviderAddressKey":"1"`, []string{"$.Current", "$.ChangeTo"}},
		{"no key of a pair", "addMIK", nil, `,"Add":[{"Key":"City","Value":"a"},{"Value":"b"}]`, []string{"$.Add[1].Key"}},
		{"number as a value", "addMIK", nil, `,"Add":[{"Key":"Latitude","Value":1}]`, []string{"$.Add[0].Value"}},
		{"no action", "removeMAK", []string{"mak", "1"}, "", []string{"act"}},
		{"action of the other operation", "removeMAK", []string{"act", "cpadelete", "mak", "1"}, "", []string{"act"}},
		{"unknown action", "removeMIK", nil, `,"Action":"forget","ProviderIdentificationKey":"1"`, []string{"$.Action"}},
		{"other name of the key", "removeMIK", nil, `,"Action":"delete","ProviderIdentityKey":"1"`, nil},
		{"full name", "removeMIK", nil, `,"Action":"cpaoptout","FullName":"Ada Quill",` + person, nil},
		{"first and last name", "removeMIK", nil, `,"Action":"suppression","FirstName":"Ada","LastName":"Quill",` + person, nil},
		{"in a query", "removeMIK", []string{"act", "delete", "a1", "1 A St", "a2", "", "city", "C", "state", "KS", "postal", "1", "full", "A Q"}, "", nil},
		{"no last name", "removeMIK", nil, `,"Action":"delete","FirstName":"Ada",` + person, []string{"$.LastName"}},
		{"no name", "removeMIK", nil, `,"Action":"delete",` + person, []string{"$.FullName"}},
		{"second line not even empty", "removeMIK", []string{"act", "delete", "a1", "1 A St", "full", "A Q"}, "", []string{"mik", "a2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e.ResetContributions()
			target := e.ContributionURL() + "/" + tt.operation
			var a answer
			if tt.pairs != nil {
				a = query(t, target, tt.pairs...)
			} else {
				a = submit(t, target, jsonType, body("CustomerID", tt.more))
			}
			if tt.faulty == nil {
				if got := at(decoded(t, a), "Results"); got != "MS01" || len(e.Contributions()) != 1 {
					t.Error(a.body)
				}
				return
			}
			var p titleShape
			if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.StatusCode != 400 {
				t.Fatalf("%d %s", a.StatusCode, a.body)
			}
			var names []string
			for name := range p.Errors {
				names = append(names, name)
			}
			slices.Sort(names)
			slices.Sort(tt.faulty)
			if diff := cmp.Diff(tt.faulty, names); diff != "" {
				t.Error(diff)
			}
			if len(e.Contributions()) != 0 {
				t.Error("was queued")
			}
		})
	}
}

func TestContributionQueueIsBounded(t *testing.T) {
	q := contributionQueue{items: make([]Contribution, maxContributions), last: maxContributions}
	q.add(Contribution{Operation: "addMAK"})
	all := q.snapshot()
	if last := all[len(all)-1]; len(all) != maxContributions/2+1 || last.Number != maxContributions+1 || last.Value("City") != "" {
		t.Errorf("%d contributions, the last %+v", len(all), last)
	}
}
