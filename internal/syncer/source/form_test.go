package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A request carries some of the reports, and each gets its turn.
func TestReportsTakeTurns(t *testing.T) {
	u := NewUpstream(time.Hour)
	var all []string
	for i := range 1000 {
		all = append(all, fmt.Sprintf("manifest=%d; %s", i, strings.Repeat("x", i%500)))
	}
	told := map[string]bool{}
	for range len(all) {
		lines := u.next(all)
		if size := len(strings.Join(lines, "")); len(lines) == 0 || len(lines) > 256 || size > 48<<10 {
			t.Fatalf("%d reports of %d bytes at once", len(lines), size)
		}
		for _, line := range lines {
			told[line] = true
		}
		if len(told) == len(all) {
			break
		}
	}
	if len(told) != len(all) {
		t.Errorf("%d of %d reports had their turn", len(told), len(all))
	}
	if few := u.next(all[:2]); !slices.Equal(slices.Sorted(slices.Values(few)), all[:2]) {
		t.Errorf("two reports: %q", few)
	}
	if none := u.next(nil); none != nil {
		t.Errorf("no report: %q", none)
	}
}
