package table

import "testing"

func TestTargetIsComparedWithRoundedValue(t *testing.T) {
	for name, row := range map[string]struct {
		figure Figure
		want   string
	}{
		"met":                   {Figure{Value: 0.5, Format: "%.2f", Target: 1}, "0.50 | ≤ 1.00 | yes"},
		"met when rounded":      {Figure{Value: 1.004, Format: "%.2f", Target: 1}, "1.00 | ≤ 1.00 | yes"},
		"missed":                {Figure{Value: 1.006, Format: "%.2f", Target: 1}, "1.01 | ≤ 1.00 | **no**"},
		"without a target":      {Figure{Value: 3, Format: "%.2f"}, "3.00 | | "},
		"rounded to an integer": {Figure{Value: 64.4, Format: "%.0f", Target: 64}, "64 | ≤ 64 | yes"},
	} {
		if got := row.figure.Cells(); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}
