package cli

import (
	"testing"
	"time"

	"syncd/internal/report"
)

func TestTimesOfTheCommandLine(t *testing.T) {
	want := time.Date(2026, 10, 3, 12, 30, 0, 0, time.Local)
	for _, text := range []string{
		want.Format(time.RFC3339), want.UTC().Format(time.RFC3339Nano), report.Moment(want), report.Moment(want.UTC()), "2026-10-03 12:30", "2026-10-03T12:30", "2026-10-03 12:30:00",
	} {
		if got, err := ParseMoment(text); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "yesterday", "2026-13-01", "2026-10-03 12:30 XYZ", "12:30"} {
		if got, err := ParseMoment(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	if got, err := Since("7d", want); err != nil || !got.Equal(want.AddDate(0, 0, -7)) {
		t.Errorf("7d before is %v, %v", got, err)
	}
	if got, err := Since("", want); err != nil || !got.IsZero() {
		t.Errorf("nothing is %v, %v", got, err)
	}
}
