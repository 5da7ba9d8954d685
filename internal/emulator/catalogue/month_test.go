package catalogue

import "testing"

func TestResolveRelease(t *testing.T) {
	available := []string{"beta", "2025.12", "2026.01", "2026.02", "2026.06", "2026.12", "2027.01"}
	tests := map[string]string{
		"latest": "2027.01", "LATEST": "2027.01",
		"2026.02": "2026.02", "2026-02": "2026.02", "Beta": "beta",
		"2026.Q1": "2026.02", "2026.q2": "2026.06", "2026.Q3": "", "2026.Q4": "2026.12",
		"2026.B1": "2026.02", "2026.b2": "", "2026.B3": "2026.06", "2026.B6": "2027.01", "2025.B6": "2026.01",
		"2026.Q5": "", "2026.B7": "", "2026.Q0": "", "2026.X1": "", "2026.13": "", "2026-13": "", "": "", "2026": "", "+026.Q1": "",
	}
	for asked, want := range tests {
		if got, ok := ResolveRelease(available, asked); got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", asked, got, want)
		}
	}
	if _, ok := ResolveRelease(nil, "latest"); ok {
		t.Error("latest of none")
	}
}
