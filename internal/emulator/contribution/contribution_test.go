package contribution

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/emulator/service"
	"syncd/internal/emulator/testclient"
)

func start(t *testing.T) (base string, queue *Queue) {
	t.Helper()
	queue = new(Queue)
	return testclient.Start(t, New(service.Config{CustomerID: testclient.ID, Prefix: "Provider"}, queue)), queue
}

// contributions has a valid request for each of the eleven methods and operations.
var contributions = []struct {
	name   string // of the operation
	method string
	pairs  []string // of a query
	more   string   // of a body
	fields []Field
}{
	{"addMAK", "GET", []string{"t", "job-1", "a1", "9 New Way", "a2", "", "loc", "Elmstead", "admarea", "KS", "postal", "66999",
		"ctry", "US", "lat", "38.1", "long", "-97.5", "respondTo", "gis@example.test"}, "", []Field{
		{"TransmissionReference", "job-1"}, {"AddressLine1", "9 New Way"}, {"AddressLine2", ""}, {"Locality", "Elmstead"},
		{"AdministrativeArea", "KS"}, {"PostalCode", "66999"}, {"Country", "US"}, {"Latitude", "38.1"}, {"Longitude", "-97.5"},
		{"RespondToEmail", "gis@example.test"}}},
	{"addMAK", "POST", nil, `,"AddressLine1":"9 New Way","Locality":"Elmstead","AdministrativeArea":"KS","PostalCode":"66999",
		"Country":"US","Latitude":"38.1","Longitude":"-97.5","Organization":"Quill Ltd","reason":"New house"`, []Field{
		{"AddressLine1", "9 New Way"}, {"Locality", "Elmstead"}, {"AdministrativeArea", "KS"}, {"PostalCode", "66999"},
		{"Country", "US"}, {"Latitude", "38.1"}, {"Longitude", "-97.5"}, {"Organization", "Quill Ltd"}, {"Reason", "New house"}}},
	{"changeGeoPoint", "GET", []string{"t", "job-17", "ctry", "US", "mak", "4400112233", "lat", "38.104220", "long", "-97.551870",
		"reason", "Pin was on the rail yard"}, "", []Field{
		{"TransmissionReference", "job-17"}, {"Country", "US"}, {"ProviderAddressKey", "4400112233"}, {"Latitude", "38.104220"},
		{"Longitude", "-97.551870"}, {"Reason", "Pin was on the rail yard"}}},
	{"changeGeoPoint", "POST", nil, `,"ProviderAddressKey":"4400112233","Latitude":"38.1","Longitude":"-97.5"`, []Field{
		{"ProviderAddressKey", "4400112233"}, {"Latitude", "38.1"}, {"Longitude", "-97.5"}}},
	{"changeMAK", "POST", nil, `,"ProviderAddressKey":"4400112233","Current":[{"Key":"City","Value":"Elmstead"}],
		"ChangeTo":[{"key":"City","value":null},{"Key":"State","Value":"KS"}]`, []Field{
		{"Current.City", "Elmstead"}, {"ChangeTo.City", ""}, {"ChangeTo.State", "KS"}, {"ProviderAddressKey", "4400112233"}}},
	{"removeMAK", "GET", []string{"act", "Delete", "mak", "1"}, "", []Field{{"Action", "Delete"}, {"ProviderAddressKey", "1"}}},
	{"removeMAK", "POST", nil, `,"Action":"suppression","ProviderAddressKey":"1"`, []Field{
		{"Action", "suppression"}, {"ProviderAddressKey", "1"}}},
	{"addMIK", "POST", nil, `,"Add":[{"Key":"City","Value":"Elmstead"}]`, []Field{{"Add.City", "Elmstead"}}},
	{"changeMIK", "POST", nil, `,"ProviderIdentityKey":"7","Current":[{"Key":"City","Value":"a"}],"ChangeTo":[{"Key":"City","Value":"b"}]`,
		[]Field{{"Current.City", "a"}, {"ChangeTo.City", "b"}, {"ProviderIdentityKey", "7"}}},
	{"removeMIK", "GET", []string{"act", "cpadelete", "mik", "7"}, "", []Field{
		{"Action", "cpadelete"}, {"ProviderIdentificationKey", "7"}}},
	{"removeMIK", "POST", nil, `,"Action":"cpalimit","ProviderIdentificationKey":"7"`, []Field{
		{"Action", "cpalimit"}, {"ProviderIdentificationKey", "7"}}},
}

func TestSubmissionsAreQueued(t *testing.T) {
	base, queue := start(t)
	for i, tt := range contributions {
		t.Run(tt.name+" "+tt.method, func(t *testing.T) {
			target := base + "/" + tt.name
			var a testclient.Answer
			if tt.method == http.MethodGet {
				a = testclient.Query(t, target, append(tt.pairs, "format", "xml")...) // format is not heeded
			} else {
				a = testclient.Submit(t, target, testclient.JSON, testclient.Body("CustomerID", tt.more))
			}
			reference := ""
			if tt.fields[0].Name == service.TransmissionReference {
				reference = tt.fields[0].Value
			}
			want := testclient.Object{"Version": "8.4.0.9001", "TransmissionReference": reference, "TransmissionResults": "",
				"Results": "MS01", "Message": "Submission received and queued for review."}
			if diff := cmp.Diff(want, testclient.Decoded(t, a)); diff != "" {
				t.Fatal(diff)
			}
			all := queue.All()
			last := all[len(all)-1]
			if len(all) != i+1 || last.Number != i+1 || last.Operation != tt.name || last.Method != tt.method || last.Time.IsZero() {
				t.Errorf("contribution %d: %+v", i+1, last)
			}
			if diff := cmp.Diff(tt.fields, last.Fields); diff != "" {
				t.Error(diff)
			}
		})
	}
	if n := len(queue.All()); n != len(contributions) {
		t.Errorf("%d contributions, want %d", n, len(contributions))
	}
}

func TestMinimumInputs(t *testing.T) {
	base, queue := start(t)
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
			queue.Reset()
			target := base + "/" + tt.operation
			var a testclient.Answer
			if tt.pairs != nil {
				a = testclient.Query(t, target, tt.pairs...)
			} else {
				a = testclient.Submit(t, target, testclient.JSON, testclient.Body("CustomerID", tt.more))
			}
			if tt.faulty == nil {
				if got := testclient.At(testclient.Decoded(t, a), "Results"); got != "MS01" || len(queue.All()) != 1 {
					t.Error(a.Text)
				}
				return
			}
			var p testclient.Problem
			if err := json.Unmarshal([]byte(a.Text), &p); err != nil || a.StatusCode != 400 {
				t.Fatalf("%d %s", a.StatusCode, a.Text)
			}
			slices.Sort(tt.faulty)
			if diff := cmp.Diff(tt.faulty, slices.Sorted(maps.Keys(p.Errors))); diff != "" {
				t.Error(diff)
			}
			if len(queue.All()) != 0 {
				t.Error("was queued")
			}
		})
	}
}

func TestQueueIsBounded(t *testing.T) {
	q := Queue{items: make([]Submission, maxSubmissions), last: maxSubmissions}
	q.add(Submission{Operation: "addMAK"})
	all := q.All()
	if last := all[len(all)-1]; len(all) != maxSubmissions/2+1 || last.Number != maxSubmissions+1 || last.Value("City") != "" {
		t.Errorf("%d contributions, the last %+v", len(all), last)
	}
}
