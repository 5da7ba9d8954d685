package emulator

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"syncd/internal/emulator/testclient"
)

func post(t *testing.T, address, body string) testclient.Answer {
	t.Helper()
	return testclient.SubmitAccepting(t, address, "text/plain", "", body)
}

func TestAdministration(t *testing.T) {
	e := start(t, Config{})
	if a := post(t, e.URL()+"/-/advance", ""); a.Text != `{"release":"2026.11"}` {
		t.Errorf("advance: %d %s", a.StatusCode, a.Text)
	}
	faults := e.URL() + "/-/faults"
	if a := post(t, faults, "kind=status,status=429,retry_after=5,times=1\n\nkind=no_ranges,host=download\r\n"); a.Text != `{"ids":[1,2]}` {
		t.Errorf("add: %d %s", a.StatusCode, a.Text)
	}
	if a := post(t, faults, "kind=no_ranges\nkind=none\n"); a.StatusCode != 400 || !strings.Contains(a.Text, "line 2: ") {
		t.Errorf("wrong line: %d %s", a.StatusCode, a.Text)
	}
	if a := testclient.Get(t, e, "/ManifestReleases/dq_addr_data", ""); a.StatusCode != 429 || a.Header.Get("Retry-After") != "5" {
		t.Errorf("the fault had no effect: status %d", a.StatusCode)
	}
	want := `[{"id":1,"fault":"kind=status,times=1,status=429,retry_after=5","matched":1,"hits":1},` +
		`{"id":2,"fault":"kind=no_ranges,host=download","matched":0,"hits":0}]`
	if a := testclient.Send(t, http.MethodGet, faults); a.Text != want {
		t.Errorf("list: %s", a.Text)
	}
	testclient.Send(t, http.MethodDelete, faults+"?id=1")
	if n := len(e.Faults()); n != 1 {
		t.Errorf("%d faults after one was removed", n)
	}
	if a := testclient.Send(t, http.MethodDelete, faults+"?id=x"); a.StatusCode != 400 {
		t.Errorf("id=x: %d", a.StatusCode)
	}
	testclient.Send(t, http.MethodDelete, faults)
	if a := testclient.Send(t, http.MethodGet, faults); a.Text != "[]" {
		t.Errorf("after all were removed: %s", a.Text)
	}
	var requests []Request
	must(t, json.Unmarshal([]byte(testclient.Send(t, http.MethodGet, e.URL()+"/-/requests").Text), &requests))
	if len(requests) != 1 || requests[0].Status != 429 || requests[0].Host != HostRelease {
		t.Errorf("requests %+v", requests)
	}
	testclient.Send(t, http.MethodDelete, e.URL()+"/-/requests")
	if n := len(e.Requests()); n != 0 {
		t.Errorf("%d requests after the reset", n)
	}
	if a := post(t, faults, strings.Repeat("\n", maxFaultText+1)); a.StatusCode != 400 {
		t.Errorf("a long body: %d", a.StatusCode)
	}
	if a := testclient.Send(t, http.MethodGet, e.URL()+"/-/none"); a.StatusCode != 404 {
		t.Errorf("unknown: %d", a.StatusCode)
	}
}

func TestContributionsAdministration(t *testing.T) {
	e := start(t, Config{})
	address := e.URL() + "/-/contributions"
	if a := testclient.Send(t, http.MethodGet, address); a.Text != "[]" {
		t.Errorf("none: %s", a.Text)
	}
	testclient.Query(t, e.ContributionURL()+"/removeMAK", "act", "delete", "mak", "1")
	a := testclient.Send(t, http.MethodGet, address)
	var shown []Contribution
	if err := json.Unmarshal([]byte(a.Text), &shown); err != nil || len(shown) != 1 || shown[0].Value("Action") != "delete" {
		t.Errorf("one: %s", a.Text)
	}
	if strings.Contains(a.Text, testclient.ID) {
		t.Error("the Customer ID is shown")
	}
	e.ResetRequests()
	if n := len(e.Contributions()); n != 1 {
		t.Errorf("%d contributions after ResetRequests, want 1", n)
	}
	if a := testclient.Send(t, http.MethodDelete, address); a.StatusCode != http.StatusNoContent || len(e.Contributions()) != 0 {
		t.Errorf("delete: %d", a.StatusCode)
	}
}
