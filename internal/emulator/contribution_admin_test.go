package emulator

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"syncd/internal/emulator/testclient"
)

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
