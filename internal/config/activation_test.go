package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"syncd/internal/config/schedule"
)

const withActivation = minimal + `  - {name: b, activate: {window: "0 2 * * SUN", for: 2h}, gate: none}
  - {name: c, activate: immediately, gate: {command: /bin/true, compare: {max_changed: 2.5%}}}
activate: manual
gate: {command: ["/usr/local/bin/check", "", "a b"], timeout: 1m}
groups: [{name: addresses, manifests: [dq_addr_data, b]}]
`

func TestActivationGateAndGroupsOfEachManifest(t *testing.T) {
	c := mustLoad(t, withActivation)
	general := Gate{Command: []string{"/usr/local/bin/check", "", "a b"}, Timeout: time.Minute}
	sunday, err := schedule.Parse("0 2 * * SUN")
	must(t, err)
	want := []Manifest{
		{Name: "dq_addr_data", Activate: Activation{Manual: true}, Gate: general},
		{Name: "b", Activate: Activation{Window: Window{Opens: sunday, For: 2 * time.Hour}}},
		{Name: "c", Gate: Gate{Command: []string{"/bin/true"}, Timeout: 10 * time.Minute, Compare: true, Changed: 0.025}},
	}
	diff := cmp.Diff(want, c.Manifests, cmpopts.IgnoreFields(Manifest{}, "Release", "Schedule", "Filter"), cmp.Comparer(schedule.Schedule.Equal))
	if diff != "" {
		t.Error(diff)
	}
	if len(c.Groups) != 1 || c.Groups[0].Name != "addresses" || !slices.Contains(c.Groups[0].Manifests, "b") {
		t.Errorf("groups %+v", c.Groups)
	}
}

func TestBadActivationGatesAndGroups(t *testing.T) {
	for text, problem := range map[string]string{
		"activate: later":                                           "6:11: activate: is neither immediately, manual nor a window",
		"activate: {window: '0 2 * * SUN'}":                         "6:12: activate.for: is missing",
		"activate: {for: 2h}":                                       "6:12: activate.window: is missing",
		"activate: {window: '@every 24h', for: 1h}":                 "6:20: activate.window: @every has no fixed times",
		"activate: {window: '0 2 * * SUN', for: 0s}":                "6:40: activate.for: must be longer than 0",
		"gate: /bin/true":                                           "6:7: gate: must be a mapping",
		"gate: {timeout: 1m}":                                       "6:8: gate.command: is missing or empty",
		"gate: {command: [\"./a\"]}":                                "6:17: gate.command: its program is neither an absolute path nor a name in PATH",
		"gate: {command: [a], compare: {}}":                         "6:31: gate.compare.max_changed: is missing",
		"gate: {command: [a], compare: {max_changed: 0.02}}":        "6:45: gate.compare.max_changed: is not a percentage",
		"gate: {command: [a], compare: {max_changed: 101%}}":        "6:45: gate.compare.max_changed: is not a percentage",
		"groups: [{name: dq_addr_data, manifests: [dq_addr_data]}]": "groups[0].name: manifests[0] has the same name",
		"groups: [{name: g, manifests: [x]}]":                       "groups[0].manifests[0]: is not in manifests",
		"groups: [{name: g}]":                                       "groups[0].manifests: is missing or empty",
		"groups: [{name: g, manifests: dq_addr_data}, {name: h, manifests: [dq_addr_data]}]": "groups[1].manifests[0]: is in groups[0] already",
	} {
		_, err := parse("syncd.yaml", []byte(minimal+text+"\n"), Environment{})
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, problem)
		}
	}
}

// SYNCD_VIEW_A_B can name one view only.
func TestViewsThatAGateCannotTellApartAreRefused(t *testing.T) {
	const views = "views: [{name: a-b, manifests: [dq_addr_data]}, {name: a.b, manifests: [dq_addr_data]}]\n"
	if _, err := parse("syncd.yaml", []byte(minimal+views), Environment{}); err != nil {
		t.Errorf("without a gate: %v", err)
	}
	_, err := parse("syncd.yaml", []byte(minimal+views+"gate: {command: [a]}\n"), Environment{})
	if err == nil || !strings.Contains(err.Error(), "views[1].name: a gate finds views[0] by the same variable, SYNCD_VIEW_A_B") {
		t.Errorf("with a gate: %v", err)
	}
}

func TestWindowAcrossDaylightSaving(t *testing.T) {
	const zone = "CRON_TZ=Europe/Berlin "
	rows := []struct{ name, schedule, opens, closes string }{
		{"usual", "0 2 * * SUN", "2026-11-22T02:00:00+01:00", "2026-11-22T04:00:00+01:00"},
		{"its start is skipped", "0 2 * * SUN", "2026-03-29T03:00:00+02:00", "2026-03-29T05:00:00+02:00"},
		{"the clock is put forward within", "0 1 * * SUN", "2026-03-29T01:00:00+01:00", "2026-03-29T04:00:00+02:00"},
		{"its start occurs twice", "0 2 * * SUN", "2026-10-25T02:00:00+02:00", "2026-10-25T03:00:00+01:00"},
		{"the clock is put back within", "30 1 * * SUN", "2026-10-25T01:30:00+02:00", "2026-10-25T02:30:00+01:00"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s, err := schedule.Parse(zone + row.schedule)
			must(t, err)
			w := Window{Opens: s, For: 2 * time.Hour}
			opens, err := time.Parse(time.RFC3339, row.opens)
			must(t, err)
			closes, err := time.Parse(time.RFC3339, row.closes)
			must(t, err)
			for at, open := range map[time.Time]bool{
				opens.Add(-time.Second): false, opens: true, opens.Add(time.Hour): true, closes.Add(-time.Second): true, closes: false,
			} {
				if w.Contains(at) != open {
					t.Errorf("open at %s is %v", at, !open)
				}
			}
			if next := w.Next(opens.Add(-time.Hour)); !next.Equal(opens) {
				t.Errorf("opens at %s, want %s", next, opens)
			}
		})
	}
}
