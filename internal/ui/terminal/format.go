package terminal

import (
	"math"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"syncd/internal/report"
)

func size(bytes int64) string { return humanize.IBytes(uint64(max(bytes, 0))) }

// files is a number of files.
func files(n int) string { return english.Plural(n, "file", "") }

// seconds is a time left, in whole seconds and at most 1000 days.
func seconds(s float64) time.Duration {
	const longest = 1000 * 24 * 3600
	return time.Duration(math.Ceil(min(s, longest))) * time.Second
}

// releaseName is a release with its revision, as the folder of its files is named.
func releaseName(release, revision string) string {
	if revision == "" {
		return release
	}
	return release + "-" + revision
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func timeOrDash(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return report.Moment(t.Local())
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}
