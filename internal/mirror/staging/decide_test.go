package staging

import (
	"strings"
	"testing"
	"time"

	"syncd/internal/manifest"
)

// member is up to date with a release, or has another one staged.
func member(name, served, staged string) Member {
	m := Member{Name: name, Setting: manifest.Latest, Served: manifest.Release(served), ServedID: served + "-s"}
	if staged != "" {
		m.Staged = Revision{Manifest: name, Release: manifest.Release(staged), Revision: "r"}
	}
	return m
}

func (m Member) with(change func(*Member)) Member {
	change(&m)
	return m
}

func TestAGroupWaitsUntilAllOfItMayGoLive(t *testing.T) {
	manual := func(m *Member) { m.Policy.Manual = true }
	gated := func(v *Verdict) func(*Member) {
		return func(m *Member) { m.Gate.ID, m.Staged.Verdict = "g", v }
	}
	pinned := func(m *Member) { m.Setting = "2026.03" }
	passed := &Verdict{Gate: "g", Passed: true}
	rows := []struct {
		name    string
		members []Member
		asked   bool
		waits   string
	}{
		{"nothing", []Member{member("a", "2026.10", "")}, true, "nothing is staged"},
		{"one", []Member{member("a", "2026.10", "2026.11")}, false, ""},
		{"the first", []Member{member("a", "", "2026.11")}, false, ""},
		{"manual", []Member{member("a", "2026.10", "2026.11").with(manual)}, false, "waits for its window"},
		{"manual, asked", []Member{member("a", "2026.10", "2026.11").with(manual)}, true, ""},
		{"both staged", []Member{member("a", "2026.10", "2026.11"), member("b", "2026.10", "2026.11")}, false, ""},
		{"one of them manual", []Member{member("a", "2026.10", "2026.11"), member("b", "2026.10", "2026.11").with(manual)}, false, "b waits"},
		{"the other is behind", []Member{member("a", "2026.10", "2026.11"), member("b", "2026.10", "")}, true, "b is at 2026.10, not at 2026.11"},
		{"the other has an older one", []Member{member("a", "2026.10", "2026.12"), member("b", "2026.10", "2026.11")}, true, "b is at 2026.11, not at 2026.12"},
		{"the other is up to date", []Member{member("a", "2026.10", "2026.11"), member("b", "2026.11", "")}, false, ""},
		{"republished", []Member{member("a", "2026.11", "2026.11"), member("b", "2026.11", "")}, false, ""},
		{"the other has no data", []Member{member("a", "", "2026.11"), member("b", "", "")}, true, "b has no data yet"},
		{"the other is pinned", []Member{member("a", "2026.10", "2026.11"), member("b", "2026.03", "").with(pinned)}, false, ""},
		{"not judged", []Member{member("a", "2026.10", "2026.11").with(gated(nil))}, true, "has not passed"},
		{"judged by another gate", []Member{member("a", "2026.10", "2026.11").with(gated(&Verdict{Gate: "old", Passed: true}))}, true, "has not passed"},
		{"passed", []Member{member("a", "2026.10", "2026.11").with(gated(passed))}, false, ""},
		{"refused", []Member{member("a", "2026.10", "2026.11").with(gated(&Verdict{Gate: "g"}))}, true, "nothing is staged"},
		{"the other was refused", []Member{member("a", "2026.10", "2026.11"), member("b", "2026.10", "2026.11").with(gated(&Verdict{Gate: "g"}))}, true, "the gate refused b"},
		{"discarded", []Member{member("a", "2026.10", "2026.11").with(func(m *Member) { m.Staged.Dropped = true })}, true, "nothing is staged"},
		{"held", []Member{member("a", "2026.10", "2026.11").with(func(m *Member) { m.Held = "is held" })}, true, "a is held"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got := Waits(row.members, time.Now(), row.asked)
			if (got == "") != (row.waits == "") || !strings.Contains(got, row.waits) {
				t.Errorf("waits because %q, want %q", got, row.waits)
			}
		})
	}
}

func TestAVerdictOfAComparisonIsAboutTheServedRevision(t *testing.T) {
	e := Revision{Manifest: "a", Verdict: &Verdict{Gate: "g", Passed: true, Against: "one"}}
	compares := Gate{ID: "g", Compares: true}
	if !e.Passes(compares, "one") || e.Passes(compares, "two") || !e.Passes(Gate{ID: "g"}, "two") {
		t.Error("the wrong served revision counts")
	}
}
