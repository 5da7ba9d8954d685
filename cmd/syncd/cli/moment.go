package cli

import (
	"fmt"
	"time"

	"syncd/internal/config"
	"syncd/internal/report"
)

// forms are the forms of a time on the command line: those of JSON and of texts, and what
// people write, in local time.
var forms = []string{
	time.RFC3339, report.MomentForm, "2006-01-02 15:04:05 MST", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05", time.DateOnly,
}

// ParseMoment reads a time.
func ParseMoment(text string) (time.Time, error) {
	for _, form := range forms {
		t, err := time.ParseInLocation(form, text, time.Local)
		if err != nil {
			continue
		}
		// A zone of another place than here has no known offset, apart from UTC.
		if name, offset := t.Zone(); offset == 0 && t.Location() != time.Local && name != "UTC" && name != "GMT" && name != "" {
			return time.Time{}, fmt.Errorf("%q has a zone that this host does not know: write the offset, such as 2026-12-24T06:00:00+01:00", text)
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is not a time such as 2026-12-24T06:00:00+01:00, \"2026-12-24 06:00\" or 2026-12-24", text)
}

// Since reads a time, or a duration before now. "" is the zero time.
func Since(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := config.ParseLongDuration(text); err == nil {
		return now.Add(-d), nil
	}
	return ParseMoment(text)
}
