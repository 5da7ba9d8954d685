package doctor_test

import (
	"fmt"
	"strings"
	"testing"

	"syncd/internal/e2e"
)

// Signatures of several publishers meet in a bucket alone: with a threshold above 1, followers
// believe nothing that serve gives them.
func TestDoctorFindsAThresholdThatServeCannotReach(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	for _, row := range []struct {
		threshold string
		finds     bool
	}{{"2", true}, {"1", false}} {
		public := func(name string) string {
			return strings.TrimSpace(h.Expect(0, "trust", "keygen", name, "-o", h.Path(name+row.threshold)).Stdout)
		}
		h.Expect(0, "trust", "init", "--origin", "mirror.example.net", "--threshold", row.threshold, public("alice"), public("bob"), "-o", h.Path("trust"+row.threshold))
		h.ConfigureWith(fmt.Sprintf("sign: {key_file: alice%[1]s, trust_file: trust%[1]s}\nserve: {listen: %[2]q, public_url: \"http://%[2]s\"}", row.threshold, e2e.FreeAddress(h)))
		out := h.Syncd("doctor").Stdout
		if strings.Contains(out, "those with this trust file refuse it") != row.finds {
			t.Errorf("threshold %s:\n%s", row.threshold, out)
		}
	}
}
