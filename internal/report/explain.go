package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror/destroy"
)

// Explain fills in each manifest's explanation. Its times are in the zone of now.
func (s *Status) Explain(now time.Time) {
	for i := range s.Manifests {
		m := &s.Manifests[i]
		if m.Explanation = OneLine(s.Damage); s.Damage != "" {
			continue
		}
		e := explanation{ManifestStatus: *m, daemon: s.Daemon, now: now}
		m.Explanation = OneLine(joined(e.sentence(), e.age(), e.DestroyWaits, e.waiting()))
	}
	for i := range s.Exports {
		s.Exports[i].Explanation = OneLine(s.Exports[i].sentence(s.Generation, s.waitsFor(s.Exports[i].View)))
	}
	if s.Scrub != nil {
		s.Scrub.Explanation = OneLine(s.Scrub.sentence(s.Daemon, now))
	}
	for i := range s.Sources {
		s.Sources[i].Explanation = OneLine(s.Sources[i].sentence(now))
	}
	if s.Upload != nil {
		s.Upload.explain(now)
	}
	if s.Upstream != nil {
		s.Upstream.Explanation = OneLine(s.Upstream.sentence(now))
	}
}

// Brief is the explanation of a manifest for a page. It leaves out state, times, errors
// and the served release, because the page shows them beside it.
func (m ManifestStatus) Brief(now time.Time) string {
	e := explanation{ManifestStatus: m, now: now, brief: true}
	return OneLine(joined(e.sentence(), e.age()))
}

// waiting says which rings of followers wait.
func (e explanation) waiting() string {
	var texts []string
	for _, w := range e.Waiting {
		texts = append(texts, w.Text(e.now))
	}
	return strings.Join(texts, "; ")
}

// headlineLimit is how many characters of a line `systemctl status` shows.
const headlineLimit = 240

// Headline is the explanation of the most urgent manifest, for a display of one line.
func (s Status) Headline() string {
	if len(s.Manifests) == 0 {
		return "no manifest is configured"
	}
	m := s.Manifests[0]
	for _, other := range s.Manifests[1:] {
		if urgency(other) > urgency(m) {
			m = other
		}
	}
	return shorten(m.Name+": "+m.Explanation, headlineLimit)
}

// urgency orders manifests for the headline, the most urgent highest.
func urgency(m ManifestStatus) int {
	switch {
	case m.State == StateFailed, m.State == StateRefused, m.State == StateQuarantined, m.State == StateExpired, m.Probe != nil && m.Probe.State == ProbeFailed:
		return 5
	case m.State == StateSyncing:
		return 4
	case m.CoolingUntil != nil:
		return 3
	case m.State == StatePending, m.Expired && !m.KeptByForce:
		return 2
	case m.State == StateHeld, m.State == StateOrphaned, m.State == StateStaged:
		return 1
	}
	return 0
}

func shorten(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

// explanation builds one manifest's sentence.
type explanation struct {
	ManifestStatus
	daemon bool
	now    time.Time
	brief  bool // see Brief
}

func (e explanation) sentence() string {
	switch {
	case e.State == StateOrphaned:
		return fmt.Sprintf("left the configuration, still serving %s as it is; `syncd forget %s` removes it", e.Release, e.Name)
	case e.Progress != nil:
		return e.syncing()
	case e.CoolingUntil != nil && e.now.Before(*e.CoolingUntil):
		return joined("cooling down"+e.when("until", *e.CoolingUntil)+", as the provider asked", e.serving(), e.lastError())
	case e.State == StateExpired:
		return e.withdrawn()
	case e.State == StateQuarantined:
		return joined(e.error(), fmt.Sprintf("release %s stays in quarantine until `syncd activate --again %s` or another revision", e.Failing, e.Name), e.serving(), e.probed(), e.next())
	case e.State == StateRefused:
		return joined(fmt.Sprintf("refused%s because %s", space(e.Failing), inWords(refusal.Reason(e.Reason)))+around(" (", e.error(), ")"), e.serving(), e.next())
	case e.State == StateFailed:
		return joined("the last sync"+of(e.Failing)+" failed"+around(": ", e.error(), ""), e.silent(), e.serving(), e.next())
	case e.State == StateHeld:
		discarded := ""
		if e.isDiscarded() {
			discarded = e.discarded()
		}
		return joined(e.held(), e.probed(), discarded, e.destroyed(), e.next())
	case e.State == StateStaged:
		return joined(fmt.Sprintf("%s is staged%s and %s", e.Staged.Release, e.when("since", e.Staged.Since), e.goesLive()), e.serving(), e.probed(), e.next())
	case e.State == StatePending && e.Destroyed != nil:
		return joined("nothing is served yet", e.destroyed(), e.next())
	case e.State == StatePending && e.Discarded != "":
		return joined("nothing is served yet", e.discarded(), e.next())
	case e.State == StatePending:
		return joined("never synced yet", e.next())
	}
	return e.upToDate()
}

// held says why a manifest stays, and what ends that.
func (e explanation) held() string {
	switch {
	case e.HoldUntil != nil:
		return fmt.Sprintf("held at %s by `syncd hold`%s `syncd hold %s --for 0s`", e.Release, around("", e.when("until", *e.HoldUntil), ", or")+" until", e.Name)
	case e.Pin == e.Release:
		return fmt.Sprintf("held at %s after a rollback from %s, and pinned to it, until `syncd unpin %s`%s", e.Release, e.HeldFrom, e.Name, e.delisted())
	}
	return fmt.Sprintf("held at %s after a rollback from %s, until a newer release comes, that one changes, or `syncd sync --force %s`", e.Release, e.HeldFrom, e.Name)
}

// goesLive says when what is staged goes live.
func (e explanation) goesLive() string {
	switch {
	case e.Blocked != "":
		return "waits: " + e.Blocked
	case e.OpensAt == nil:
		return fmt.Sprintf("goes live with `syncd activate %s`", e.Name)
	case e.OpensAt.After(e.now):
		return fmt.Sprintf("goes live when its window opens%s, or with `syncd activate %s`", e.when("at", *e.OpensAt), e.Name)
	}
	if e.Grouped {
		return "waits for the other manifests of its group, or for the next sync"
	}
	return fmt.Sprintf("goes live with the next sync, or with `syncd activate %s`", e.Name)
}

func (e explanation) syncing() string {
	syncing := "syncing: "
	if e.brief { // the state stands beside it
		syncing = ""
	}
	switch e.Progress.Phase {
	case PhaseChecking:
		return joined(syncing+"asking the provider for releases", e.stuck(), e.serving())
	case PhaseComparing:
		return joined(syncing+"comparing the rows of the new revision with the served ones", e.serving())
	case PhaseGating:
		return joined(syncing+"the gate looks at the new revision", e.serving())
	case PhasePublishing:
		return syncing + "publishing"
	case PhaseDownloading:
		return syncing + joined(e.stuck(), e.downloaded())
	}
	return joined(syncing+"waiting to start", e.serving())
}

// stuck says what is retried, or since when the provider sends nothing; "" while the sync moves.
func (e explanation) stuck() string {
	if e.Progress.Retry != nil && !e.brief {
		return e.Progress.Retry.Text(e.now)
	}
	if e.Progress.Retry != nil || e.Progress.StuckSince.IsZero() {
		return ""
	}
	return fmt.Sprintf("stuck%s, because the provider sends nothing, restart syncd", e.when("since", e.Progress.StuckSince))
}

func (e explanation) downloaded() string {
	p := e.Progress
	if p.FilesTotal == 0 {
		return "all files are on disk already"
	}
	text := fmt.Sprintf("%d of %d files, %s of %s", p.FilesDone, p.FilesTotal, size(p.BytesDone), size(max(p.BytesTotal, p.BytesDone)))
	if p.BytesPerSecond >= 1 {
		text += fmt.Sprintf(", %s/s", size(int64(p.BytesPerSecond)))
	}
	if p.SecondsLeft > 0 {
		text += fmt.Sprintf(", about %s left", roughly(p.SecondsLeft))
	}
	return text
}

// roughly rounds a time left up to whole seconds, and one above an hour to the nearest
// minute.
func roughly(seconds float64) time.Duration {
	unit := time.Second
	if seconds > 3600 {
		unit = time.Minute
	}
	const longest = 1000 * 24 * 3600
	return (time.Duration(math.Ceil(min(seconds, longest))) * time.Second).Round(unit)
}

func (e explanation) upToDate() string {
	text := fmt.Sprintf("up to date with %s", e.Release)
	isDiscarded := e.isDiscarded()
	wanted, newest := manifest.Release(e.Wanted), manifest.Release(e.Newest)
	switch {
	case isDiscarded, e.Destroyed != nil:
		text = e.serving()
	case wanted.IsMonth() && e.Release != e.Wanted:
		text = joined(fmt.Sprintf("pinned to %s, which the next sync will fetch", e.Wanted), e.serving())
	case wanted.IsMonth():
		text = "pinned to " + e.Wanted
		if e.Pin != "" {
			text += " by `syncd pin`"
		}
		if newest != "" && newest.Newer(wanted) {
			text += fmt.Sprintf("; %s is available", e.Newest)
		}
	case wanted == manifest.Latest && slices.Contains(e.Skips, e.Newest): // since the last sync
		text = joined("the next sync looks for a release that is not skipped", e.serving())
	case wanted == manifest.Latest && newest != "" && newest.Newer(manifest.Release(e.Release)):
		text = joined(fmt.Sprintf("%s is available, the next sync will fetch it", e.Newest), e.serving())
	}
	text += e.delisted()
	if len(e.Skips) > 0 {
		text += ", skips " + strings.Join(e.Skips, ", ")
	}
	if e.ActiveSince != nil && !e.brief {
		text += ", in service since " + e.at(*e.ActiveSince)
	}
	if e.SyncedAt != nil && !e.brief {
		text += ", last confirmed at " + e.at(*e.SyncedAt)
	}
	discarded := ""
	if isDiscarded {
		discarded = e.discarded()
	}
	return joined(strings.TrimPrefix(text, ", "), e.probed(), discarded, e.destroyed(), e.late(), e.next())
}

// probed says what the consumer said of the served revision, unless all is well.
func (e explanation) probed() string {
	switch p := e.Probe; {
	case p == nil || p.State == ProbeProven:
		return ""
	case p.State == ProbePending && !e.daemon && !e.brief:
		return fmt.Sprintf("the probe has no verdict about %s yet, `syncd sync` asks again", p.Release)
	case p.State == ProbePending:
		return fmt.Sprintf("the probe asks whether the consumer works with %s%s", p.Release, e.when("until", *p.Until))
	case e.brief:
		return fmt.Sprintf("the consumer does not work with %s", p.Release)
	case p.Undone != "":
		return fmt.Sprintf("the consumer does not work with %s either: %s", p.Release, p.Error)
	default:
		return fmt.Sprintf("the consumer does not work with %s: %s", p.Release, p.Error)
	}
}

// delisted says that only this host still has the wanted release.
func (e explanation) delisted() string {
	if !e.Delisted {
		return ""
	}
	return fmt.Sprintf("; the provider has %s no more", e.Wanted)
}

// isDiscarded is true if the operator dropped the release that is wanted.
func (e explanation) isDiscarded() bool {
	return e.Discarded != "" && (e.Discarded == e.Newest || e.Discarded == e.Wanted)
}

// discarded says how a release that the operator dropped comes back.
func (e explanation) discarded() string {
	return fmt.Sprintf("%s was dropped by `syncd activate --discard`, `syncd sync --force %s` fetches it again", e.Discarded, e.Name)
}

// destroyed says why the wanted release does not come, and how it comes back.
func (e explanation) destroyed() string {
	d := e.Destroyed
	if d == nil {
		return ""
	}
	why := map[destroy.Cause]string{destroy.Command: "`syncd destroy`", destroy.DestroyAfter: "`destroy_after`", destroy.Publisher: "`destroy_after` of the publisher"}[d.Cause]
	again := fmt.Sprintf("`syncd pin %s %s` or `syncd sync --force %s`", e.Name, d.Release, e.Name)
	if e.Release == "" { // there is no record that could keep a pin
		again = fmt.Sprintf("`syncd sync --force %s`", e.Name)
	}
	return fmt.Sprintf("%s was destroyed by %s%s, only %s fetches it again", d.Release, why, e.when("at", d.At), again)
}

// late says that the provider has not published the next release in time.
func (e explanation) late() string {
	if !e.Late || e.Expected == nil || e.brief {
		return ""
	}
	return fmt.Sprintf("the release after %s was expected by %s and is late", e.Newest, e.at(*e.Expected))
}

// silent says since when the provider gives no answer.
func (e explanation) silent() string {
	if e.UnreachableSince == nil || e.brief {
		return ""
	}
	return "no answer since " + e.at(*e.UnreachableSince)
}

func (e explanation) serving() string {
	switch {
	case e.brief:
		return ""
	case e.Release == "":
		return "nothing is served yet"
	}
	return "still serving " + e.Release
}

// error is the error of the last sync.
func (e explanation) error() string {
	if e.brief {
		return ""
	}
	return e.Error
}

// lastError is empty for the error of a request that waits for the cool-down, which
// the sentence has named already.
func (e explanation) lastError() string {
	if e.error() == "" || strings.HasSuffix(e.Error, "(Retry-After)") {
		return ""
	}
	return "the last sync" + of(e.Failing) + " failed: " + e.Error
}

// next is when the next scheduled sync or check happens.
func (e explanation) next() string {
	switch {
	case e.brief:
		return ""
	case !e.daemon:
		return "no daemon is running: `syncd sync` checks now"
	case e.NextSync == nil:
		return "waiting for its first check"
	case e.RetryAt != nil && e.RetryAt.After(*e.NextSync):
		return fmt.Sprintf("the next scheduled try is after %s; `syncd sync` tries at once", e.at(*e.RetryAt))
	}
	return "next check at " + e.at(*e.NextSync)
}

// when is a time with the word before it.
func (e explanation) when(word string, t time.Time) string {
	if e.brief {
		return ""
	}
	return " " + word + " " + e.at(t)
}

// MomentForm is the form of times in every text. JSON has RFC 3339.
const MomentForm = "2006-01-02 15:04 MST"

// Moment is a time as every text shows it, in its own zone.
func Moment(t time.Time) string { return t.Format(MomentForm) }

func (e explanation) at(t time.Time) string {
	return Moment(t.In(e.now.Location()))
}

// joined puts the parts that are not empty into one sentence.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

// around puts a text between two others, unless it is empty.
func around(before, text, after string) string {
	if text == "" {
		return ""
	}
	return before + text + after
}

func size(bytes int64) string { return humanize.IBytes(uint64(max(bytes, 0))) }

func space(release string) string { return around(" ", release, "") }

func of(release string) string { return around(" of ", release, "") }

// untrusted explains refusals of a host with a trust file.
var untrusted = map[refusal.Reason]string{
	refusal.Unsigned:         "too few of the keys that this host trusts have signed it",
	refusal.BadSignature:     "a signature is wrong, or is about other data",
	refusal.UpstreamRollback: "it is older than what the upstream had before",
	refusal.UpstreamFrozen:   "the upstream's statement has expired",
	refusal.WrongOrigin:      "it is of another publisher than the one that this host trusts",
	refusal.BadTrust:         "the upstream's trust text cannot be believed",
}

// inWords explains the reason of a refusal.
func inWords(reason refusal.Reason) string {
	switch reason {
	case refusal.HashMismatch:
		return "the content of a file does not match its digest, even after a second download"
	case refusal.BadName:
		return "a file name is not a plain name"
	case refusal.BadRelease:
		return "the release is more than two months ahead of this machine's clock"
	case refusal.PathClash:
		return "two files have the same path"
	case refusal.Empty:
		return "it lists no files"
	case refusal.Shrink:
		return "it, or one of its files, is far smaller than what is served"
	case refusal.Downgrade:
		return "the newest release is older than the served one"
	case refusal.NoSpace:
		return "it does not fit on the disk"
	case refusal.TooLarge:
		return "the provider sent more bytes than allowed"
	case refusal.BadShape:
		return "the response of the provider has an unexpected shape"
	case refusal.Gate:
		return "the gate did not pass it"
	case refusal.Probe:
		return "the consumer did not work with it"
	case refusal.Expired:
		return "it may be used no more"
	case refusal.Insecure:
		return "the connection would not be encrypted"
	}
	if words, found := untrusted[reason]; found {
		return words
	}
	return "the data cannot be trusted"
}
