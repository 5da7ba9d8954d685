package gate

import (
	"strings"
	"testing"

	"syncd/internal/manifest/expiry"
)

func TestAGateTellsTheDay(t *testing.T) {
	for name, row := range map[string]struct {
		script string
		passed bool
		day    expiry.Day
		says   string
	}{
		"told":             {"echo fine; echo syncd-expires: 2026-12-31", true, "2026-12-31", ""},
		"the earlier":      {"echo syncd-expires: 2026-12-31; echo syncd-expires: 2026-11-30", true, "2026-11-30", ""},
		"not told":         {"echo fine", true, "", ""},
		"on stderr":        {"echo syncd-expires: 2026-12-31 >&2", true, "", ""},
		"and refused":      {"echo syncd-expires: 2026-12-31; exit 1", false, "", "exit status 1"},
		"the year 1":       {"echo syncd-expires: 0001-01-01", false, "", "told no usable day"},
		"the year 9999":    {"echo syncd-expires: 9999-12-31", false, "", "told no usable day"},
		"30 February":      {"echo syncd-expires: 2026-02-30", false, "", "told no usable day"},
		"no day":           {"echo syncd-expires: never", false, "", "told no usable day"},
		"no day, refused":  {"echo syncd-expires: never; exit 3", false, "", "exit status 3"},
		"a line of 64 MiB": {"printf syncd-expires:; head -c 67108864 /dev/zero", false, "", "told no usable day"},
		"cut off":          {"printf 'a\\nsyncd-expires: 2026-12-31'", true, "2026-12-31", ""},
	} {
		for _, compares := range []bool{false, true} {
			g := shell(row.script)
			g.Compare, g.Changed = compares, 0
			subject := Subject{Path: "/new"}
			if compares {
				subject.Current = "/old"
			}
			found := check(t, g, subject)
			if found.Passed != row.passed || found.Expires != row.day || !strings.Contains(found.Error, row.says) || len(found.Error) > 1000 {
				t.Errorf("%s, compares %t: %+v", name, compares, found)
			}
		}
	}
}

func TestTheDayIsNoDifferenceBetweenTwoTrees(t *testing.T) {
	g := shell(`echo same; if test "$SYNCD_PATH" = /old; then echo syncd-expires: 2026-11-30; else echo syncd-expires: 2026-12-31; fi; echo same`)
	g.Compare, g.Changed = true, 0
	if found := check(t, g, Subject{Path: "/new", Current: "/old"}); !found.Passed || found.Expires != "2026-12-31" || len(found.Differences) > 0 {
		t.Errorf("%+v", found)
	}
}
