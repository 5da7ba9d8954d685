package emulator

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

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
	e.ResetRequests()
	if n := len(e.Contributions()); n != 1 {
		t.Errorf("%d contributions after ResetRequests, want 1", n)
	}
	if a := send(t, http.MethodDelete, address); a.StatusCode != http.StatusNoContent || len(e.Contributions()) != 0 {
		t.Errorf("delete: %d", a.StatusCode)
	}
}
