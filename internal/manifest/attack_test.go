package manifest

import (
	"encoding/json"
	"os"
	"testing"

	"syncd/internal/manifest/refusal"
)

// attacks.json is the one list of harmful manifests. The parsers get it here, the
// whole program gets it from a provider in e2e/sync, and the publisher gets the
// resulting paths in mirror.
func TestEveryAttackIsRefusedForItsReason(t *testing.T) {
	data, err := os.ReadFile("testdata/attacks.json")
	must(t, err)
	var attacks []struct {
		Name   string
		Reason refusal.Reason
		Links  []string
	}
	must(t, json.Unmarshal(data, &attacks))
	lost := 0
	for _, a := range attacks {
		refs, err := parseLinks(a.Links)
		if err == nil {
			err = listOf(refs...).CheckPaths()
		}
		if refusal.ReasonOf(err) != a.Reason {
			lost++
			t.Errorf("%s: %v, want %s", a.Name, err, a.Reason)
		}
	}
	t.Logf("RELIABILITY attacks on the parsers: a list of links that mean harm: %d times, lost %d", len(attacks), lost)
}
