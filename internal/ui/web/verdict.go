package web

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/report"
)

// level says how urgent something is: the colour of its badge. Icons have these names, too.
type level string

const (
	good  level = "good"
	plain level = "plain" // neither good nor bad, such as numbers
	busy  level = "busy"
	warn  level = "warn" // someone should know, or has ordered it
	bad   level = "bad"  // someone has to act
)

var byUrgency = []level{bad, warn, busy, plain, good}

// worst returns the more urgent of two levels.
func worst(a, b level) level {
	return byUrgency[min(slices.Index(byUrgency, a), slices.Index(byUrgency, b))]
}

// badge is a word with its colour.
type badge struct {
	Word  string
	Level level
}

// blip is how long a provider may be silent before that is bad.
const blip = time.Minute

// badgeOf is the badge of a manifest. It is good only if there is nothing to tell.
func badgeOf(status report.Status, m report.ManifestStatus) badge {
	switch {
	case m.State == report.StateOrphaned:
		return badge{"orphaned", warn}
	case status.Damage != "":
		return badge{"damaged", bad}
	case retryOf(m) != nil:
		if before := knownBadge(m, badge{}); before.Level == bad {
			return before
		}
		return badge{"retrying", warn} // the banner says more
	case m.Progress != nil && !m.Progress.StuckSince.IsZero():
		return badge{"stuck", bad}
	case m.CoolingUntil != nil && m.State != report.StateSyncing:
		return badge{"cooling down", warn}
	case m.State == report.StateInSync && m.Probe != nil && m.Probe.State == report.ProbeFailed:
		return badge{"consumer fails", bad}
	case m.State == report.StateInSync && m.Expired:
		return badge{"expired", bad}
	case m.State == report.StateInSync && m.Probe != nil && m.Probe.State == report.ProbePending:
		return badge{"probing", busy}
	case m.State == report.StateInSync && m.Expiring:
		return badge{"expires soon", warn}
	case m.State == report.StateInSync && m.Late:
		return badge{"late", warn}
	case m.State == report.StateInSync && isBehind(m):
		return badge{"behind", warn}
	}
	return badge{words(m.State), levelOf(string(m.State))}
}

// knownBadge is the badge for the verdict. While the provider does not answer, which the
// verdict says anyway, it is that of what was known before.
func knownBadge(m report.ManifestStatus, shown badge) badge {
	if retryOf(m) == nil {
		return shown
	}
	before := m
	switch {
	case m.Reason != "":
		before.State = report.StateRefused
	case m.Error != "":
		before.State = report.StateFailed
	case m.Release == "":
		before.State = report.StatePending
	case m.HeldFrom != "" || m.HoldUntil != nil:
		before.State = report.StateHeld
	default:
		before.State = report.StateInSync
	}
	before.Progress = nil
	return badgeOf(report.Status{}, before)
}

func silenceLevel(since, now time.Time) level {
	if now.Sub(since) < blip {
		return warn
	}
	return bad
}

// isBehind is true when the next sync would fetch another release.
func isBehind(m report.ManifestStatus) bool {
	wanted, newest := manifest.Release(m.Wanted), manifest.Release(m.Newest)
	switch {
	case wanted.IsMonth():
		return m.Release != m.Wanted && m.Discarded != m.Wanted && m.Destroyed == nil
	case wanted == manifest.Latest && newest != "":
		return newest.Newer(manifest.Release(m.Release)) && m.Discarded != m.Newest && m.Destroyed == nil && !slices.Contains(m.Skips, m.Newest)
	}
	return false
}

// levelOf is the level of a state of manifests, views, exports, followers or the bucket.
func levelOf(state string) level {
	switch state {
	case string(report.StateInSync):
		return good
	case string(report.StateSyncing):
		return busy
	case string(report.StateFailed), string(report.StateRefused), string(report.StateQuarantined), string(report.StateExpired), string(report.StateDamaged), string(report.FollowerStopped):
		return bad
	case string(report.StateStandby), string(report.FollowerUnknown):
		return plain
	}
	return warn
}

// verdict sums up the page in one line.
type verdict struct {
	Text  string
	Level level
}

// verdictOf counts the manifests by their badges, the worst first, and names whatever else
// is wrong.
func verdictOf(status report.Status, cards []card, provider *trouble, fleet *fleetCard, now time.Time) verdict {
	v := verdict{Level: good}
	say := func(l level, form string, args ...any) {
		if v.Level = worst(v.Level, l); v.Text != "" {
			v.Text += ", "
		}
		v.Text += fmt.Sprintf(form, args...)
	}
	configured, counts := 0, map[badge]int{}
	for _, c := range cards {
		counts[c.Known]++
		if c.State != report.StateOrphaned {
			configured++
		}
	}
	if configured == 0 {
		say(plain, "No manifest is configured")
	} else {
		current := 0
		for b, n := range counts {
			if b.Level == good {
				current += n
			}
		}
		say(good, "%d of %d current", current, configured)
	}
	for _, b := range slices.SortedFunc(maps.Keys(counts), compareBadges) {
		if b.Level != good {
			say(b.Level, "%d %s", counts[b], b.Word)
		}
	}
	if provider != nil {
		say(provider.Level, "%s", provider.Short(now))
	}
	v.tellOthers(status, fleet, say)
	return v
}

func compareBadges(a, b badge) int {
	return cmp.Or(slices.Index(byUrgency, a.Level)-slices.Index(byUrgency, b.Level), cmp.Compare(a.Word, b.Word))
}

// tellOthers tells of what is wrong beside the manifests.
func (v *verdict) tellOthers(status report.Status, fleet *fleetCard, say func(l level, form string, args ...any)) {
	count := func(n int, one, many string) {
		switch {
		case n == 1:
			say(bad, "1 %s", one)
		case n > 1:
			say(bad, "%d %s", n, many)
		}
	}
	if status.ReadOnly {
		say(bad, "file system read-only")
	}
	count(badViews(status.Views), "view fails", "views fail")
	count(badExports(status.Exports), "exported folder fails", "exported folders fail")
	if fleet != nil {
		count(len(fleet.Stopped), "release stopped", "releases stopped")
	}
	if u := status.Upload; u != nil && levelOf(string(u.State)) != good && levelOf(string(u.State)) != plain {
		say(levelOf(string(u.State)), "bucket %s", words(u.State))
	}
	if status.Upstream != nil && status.Upstream.Expired {
		say(bad, "upstream's signature expired")
	}
	count(badHooks(status.Hooks), "hook fails", "hooks fail")
	if status.Scrub != nil {
		count(len(status.Scrub.Left), "damaged file", "damaged files")
	}
}

func badViews(views []report.ViewStatus) (n int) {
	for _, v := range views {
		if levelOf(string(v.State)) == bad {
			n++
		}
	}
	return n
}

func badExports(exports []report.ExportStatus) (n int) {
	for _, e := range exports {
		if levelOf(string(e.State)) == bad {
			n++
		}
	}
	return n
}

func badHooks(hooks []report.HookStatus) (n int) {
	for _, h := range hooks {
		if h.IsFailing() {
			n++
		}
	}
	return n
}

// trouble is that of the provider: the retry that lasts longest, or else the error of a
// sync that got no answer. The cards of manifests do not repeat it.
type trouble struct {
	Level   level
	Heading string
	Since   time.Time
	Error   string
	Try     string     // the attempt, and when the next one comes
	NextAt  *time.Time // of the next attempt; nil while one runs
	answers bool       // with errors
}

// troubleOf finds out what is wrong with the provider; nil if nothing is.
func troubleOf(status report.Status, now time.Time) *trouble {
	var t *trouble
	for _, m := range status.Manifests {
		if next := troubleWith(m, now); next != nil && (t == nil || next.beats(*t)) {
			t = next
		}
	}
	if t != nil {
		t.Level = silenceLevel(t.Since, now)
	}
	return t
}

// beats prefers a retry that is going on, which says more, and then what has lasted longer.
func (t trouble) beats(other trouble) bool {
	if (t.Try != "") != (other.Try != "") {
		return t.Try != ""
	}
	return t.Since.Before(other.Since)
}

func troubleWith(m report.ManifestStatus, now time.Time) *trouble {
	t := trouble{Heading: "The provider does not answer"}
	if m.UnreachableSince != nil {
		t.Since = *m.UnreachableSince
	}
	switch retry := retryOf(m); {
	case retry != nil:
		if t.Since.IsZero() {
			t.Since = retry.Since
		}
		if t.answers = retry.Status != 0; t.answers {
			t.Heading = fmt.Sprintf("The provider answers with status %d", retry.Status)
		}
		t.Error, t.Try = retry.Error, fmt.Sprintf("Attempt %d waits for an answer.", retry.Attempt)
		if !retry.NextAt.IsZero() {
			t.NextAt, t.Try = &retry.NextAt, fmt.Sprintf("Attempt %d failed, next try %s.", retry.Attempt, coming(retry.NextAt, now))
		}
	case m.UnreachableSince != nil:
		t.Error = m.Error
		if next := nextTry(m); next != nil && m.Progress == nil {
			t.Try, t.NextAt = "Next try "+coming(*next, now)+".", next
		}
	default:
		return nil
	}
	return &t
}

func retryOf(m report.ManifestStatus) *report.Retry {
	if m.Progress == nil {
		return nil
	}
	return m.Progress.Retry
}

// Short is the trouble for the verdict.
func (t trouble) Short(now time.Time) string {
	if t.answers {
		return "provider answers with errors for " + lasting(now.Sub(t.Since))
	}
	return "provider unreachable for " + lasting(now.Sub(t.Since))
}

// coming says when something comes that may be due already.
func coming(at, now time.Time) string {
	if !at.After(now) {
		return "now"
	}
	return relative(at, now)
}

// lasting is a duration in one unit.
func lasting(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours())/24)
}
