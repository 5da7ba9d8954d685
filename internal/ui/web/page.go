package web

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"syncd/internal/manifest"
	"syncd/internal/report"
)

// maxPast is how many past syncs of a manifest the page shows.
const maxPast = 12

// policy allows the page its own style, script, icon, API and form, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

//go:embed assets
var assets embed.FS

// page is the data of the template.
type page struct {
	Verdict    verdict
	Note       string
	Now        time.Time
	Generation int
	DataDir    string
	Damage     string
	ReadOnly   bool
	Provider   *trouble // nil while it answers
	Parts      []string // of the page below, those in trouble first
	Manifests  []card   // the worst first
	Views      *section
	ViewRows   []report.ViewStatus
	Exports    []report.ExportStatus
	Hooks      *section
	HookRows   []report.HookStatus
	Disk       diskUse
	Scrub      *report.ScrubStatus
	Upload     *report.UploadStatus
	Upstream   *report.UpstreamStatus
	Fleet      *fleetCard // nil if there are no followers
}

type card struct {
	report.ManifestStatus
	Badge      badge
	Known      badge      // for the verdict
	Open       bool       // unfolded, because someone should look
	Says       string     // the part of the explanation that the badge leaves out; "" for none
	LastError  string     // unless the banner shows it
	Configured string     // unless it is latest
	NextTry    *time.Time // of a sync; nil while one runs
	Before     *before    // the revision to which a rollback leads; nil for none
	HasBytes   bool       // to download: a bar shows the percentage
	Percent    int
	Past       []pastSync
}

// StagedRelease is what a discard drops.
func (c card) StagedRelease() string {
	if c.Staged != nil {
		return c.Staged.Release
	}
	return c.Quarantined.Release
}

// StagedRevision is the revision of StagedRelease.
func (c card) StagedRevision() string {
	if c.Staged != nil {
		return c.Staged.Revision
	}
	return c.Quarantined.Revision
}

// ShowsNewest is true unless the newest release stands on the card already.
func (c card) ShowsNewest() bool {
	return c.Newest != c.Release && c.Newest != c.Failing && (c.Staged == nil || c.Newest != c.Staged.Release)
}

// ShowsSuccess is true when the last check was no success.
func (c card) ShowsSuccess() bool {
	return c.SyncedAt != nil && (c.CheckedAt == nil || c.CheckedAt.Sub(*c.SyncedAt) >= time.Minute)
}

// before is the revision that a manifest had before the served one.
type before struct {
	Manifest, Release, Revision string
	Generation                  int    // that shows it
	Served                      string // the revision that it replaces
	Verb                        string
}

// section is a part of the page with its own badge.
type section struct {
	Badge badge
	Gist  string
	Open  bool
}

// pastSync is one past sync of a manifest. Its bar is drawn in percent of the
// longest one.
type pastSync struct {
	report.ManifestResult
	Time       time.Time
	Result     string
	Took       string
	Counted    bool // its counts are known
	Down, Kept float64
}

// diskUse is a report.DiskUse with a bar for each generation.
type diskUse struct {
	Bytes, Free int64
	Generations []generationUse
}

type generationUse struct {
	report.GenerationUse
	Down, Kept float64
}

// pages serves the status page.
type pages struct {
	source   Source
	orders   *intake
	now      func() time.Time // its zone is the page's
	renderer renderer
	template *template.Template
}

func newPages(source Source, orders *intake, now func() time.Time, views renderer) *pages {
	p := &pages{source: source, orders: orders, now: now, renderer: views}
	p.template = template.Must(template.New("page.html").Funcs(template.FuncMap{
		"bytes": func(n int64) string { return humanize.IBytes(uint64(max(n, 0))) },
		"isSet": func(t any) bool { return !moment(t).IsZero() },
		"iso":   func(t any) string { return moment(t).UTC().Format(time.RFC3339) },
		"clock": func(t any) string { return report.Moment(moment(t).In(now().Location())) },
		"ago":   func(t any) string { return relative(moment(t), now()) },
		"words": func(state any) string { return words(fmt.Sprint(state)) },
		"level": func(state any) level { return levelOf(fmt.Sprint(state)) },
		"rich":  rich,
		"waits": func(w report.WaitingRing) string { return w.Text(now()) },
	}).ParseFS(assets, "assets/page.html", "assets/fleet.html"))
	return p
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.renderer.serve(w, r, "text/html; charset=utf-8", func() ([]byte, error) {
		view, err := p.gather(r.URL.Query())
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = p.template.Execute(&b, view)
		return b.Bytes(), err
	})
}

func (p *pages) gather(query url.Values) (page, error) {
	status, err := p.source.Status()
	if err != nil {
		return page{}, err
	}
	history, err := p.source.History(report.HistoryLimit)
	if err != nil {
		return page{}, err
	}
	disk, err := p.source.DiskUse()
	if err != nil {
		return page{}, err
	}
	now := p.now()
	view := page{
		Note: p.note(query, now), Now: now, Generation: status.Generation, DataDir: status.DataDir, Damage: status.Damage, ReadOnly: status.ReadOnly,
		Provider: troubleOf(status, now), Disk: drawDisk(disk), Scrub: status.Scrub, Upload: status.Upload, Upstream: status.Upstream,
		Views: sectionOfViews(status), ViewRows: status.Views, Exports: status.Exports, Hooks: sectionOfHooks(status.Hooks), HookRows: status.Hooks,
		Fleet: cardOfFleet(p.source.Followers(maxFollowers), now),
	}
	for _, m := range status.Manifests {
		c := cardOf(m, badgeOf(status, m), status.Damage, now)
		if p := view.Provider; p != nil && p.NextAt != nil && c.NextTry != nil && p.NextAt.Equal(*c.NextTry) {
			c.NextTry = nil // the banner shows it
		}
		c.Past, c.Before = past(m.Name, history), beforeOf(m, disk)
		view.Manifests = append(view.Manifests, c)
	}
	slices.SortStableFunc(view.Manifests, func(a, b card) int {
		return slices.Index(byUrgency, a.Badge.Level) - slices.Index(byUrgency, b.Badge.Level)
	})
	view.Parts = view.ordered()
	view.Verdict = verdictOf(status, view.Manifests, view.Provider, view.Fleet, now)
	return view, nil
}

// note confirms a request of one of the page's forms. The value of the parameter names the manifest;
// empty means all. It says only what is true.
func (p *pages) note(query url.Values, now time.Time) string {
	for _, row := range []struct{ key, text string }{
		{"asked", "A sync%s was requested. It starts now, or after the running one."},
		{"activated", "The activation%s was requested. The log says if it fails."},
		{"discarded", "To discard what is staged%s was requested."},
		{"rolledback", "The rollback%s was requested. The log says if it fails."},
		{"held", "The hold%s was changed."},
	} {
		name := query.Get(row.key)
		if !query.Has(row.key) || !p.orders.hasTaken(row.key, name, now) {
			continue
		}
		if name != "" {
			name = " of " + name
		}
		return fmt.Sprintf(row.text, name)
	}
	return ""
}

func cardOf(m report.ManifestStatus, b badge, damage string, now time.Time) card {
	c := card{ManifestStatus: m, Badge: b, Known: knownBadge(m, b)}
	c.Open = b.Level == bad || b.Level == warn && (retryOf(m) == nil || c.Known.Level != good) // the banner tells of the retry
	brief := m.Brief(now)
	if damage == "" && !slices.Contains([]string{"up to date with " + m.Release, "the last sync failed", "never synced yet"}, brief) {
		c.Says = brief
	}
	if m.Error != damage && (m.UnreachableSince == nil || m.Reason != "") {
		c.LastError = m.Error
	}
	if m.Progress == nil {
		c.NextTry = nextTry(m)
	}
	if m.Wanted != string(manifest.Latest) && m.State != report.StateOrphaned {
		c.Configured = m.Wanted
	}
	if m.Pin != "" {
		c.Configured = m.Pin + ", pinned by command"
	}
	if m.CoolingUntil != nil && !m.CoolingUntil.After(now) {
		c.CoolingUntil = nil
	}
	if p := m.Progress; p != nil && p.BytesTotal > 0 {
		c.HasBytes, c.Percent = true, int(min(100, 100*p.BytesDone/p.BytesTotal))
	}
	return c
}

// nextTry is when the next scheduled sync may ask about the manifest.
func nextTry(m report.ManifestStatus) *time.Time {
	if m.NextSync != nil && m.RetryAt != nil && m.RetryAt.After(*m.NextSync) {
		return m.RetryAt
	}
	return m.NextSync
}

// beforeOf finds the revision in the newest generation before the served one that has
// another one of the manifest.
func beforeOf(m report.ManifestStatus, disk report.DiskUse) *before {
	if m.Release == "" || m.State == report.StateOrphaned {
		return nil
	}
	served := slices.IndexFunc(disk.Generations, func(g report.GenerationUse) bool { return g.Current })
	for _, g := range disk.Generations[served+1:] {
		for _, then := range g.Shows {
			if then.Name != m.Name || then.Revision == m.Revision {
				continue
			}
			b := &before{Manifest: m.Name, Release: then.Release, Revision: then.Revision, Generation: g.Number, Served: m.Revision, Verb: "Roll back"}
			if manifest.Release(then.Release).Newer(manifest.Release(m.Release)) {
				b.Verb = "Return"
			}
			return b
		}
	}
	return nil
}

// ordered puts the parts that are in trouble before the others.
func (p page) ordered() []string {
	levels := map[string]level{"disk": plain}
	for _, c := range p.Manifests {
		levels["manifests"] = worst(c.Badge.Level, cmp.Or(levels["manifests"], good))
	}
	if p.Views != nil {
		levels["views"] = p.Views.Badge.Level
	}
	if p.Fleet != nil {
		levels["followers"] = p.Fleet.Badge.Level
	}
	if p.Upload != nil {
		levels["publish"] = levelOf(string(p.Upload.State))
	}
	if p.Upstream != nil {
		levels["upstream"] = good
		if p.Upstream.Expired {
			levels["upstream"] = bad
		}
	}
	if p.Hooks != nil {
		levels["hooks"] = p.Hooks.Badge.Level
	}
	if p.Scrub != nil && len(p.Scrub.Left) > 0 {
		levels["scrub"] = bad
	}
	urgency := func(part string) int {
		if l := levels[part]; l == bad || l == warn {
			return slices.Index(byUrgency, l)
		}
		return len(byUrgency)
	}
	parts := []string{"manifests", "views", "followers", "publish", "upstream", "hooks", "scrub", "disk"}
	slices.SortStableFunc(parts, func(a, b string) int { return urgency(a) - urgency(b) })
	return parts
}

// sectionOfViews sums up views and exports; nil if there are none.
func sectionOfViews(status report.Status) *section {
	if len(status.Views) == 0 {
		return nil
	}
	s := &section{Badge: badge{"in sync", good}, Gist: english.Plural(len(status.Views), "view", "")}
	if n := len(status.Exports); n > 0 {
		s.Gist += ", " + english.Plural(n, "exported folder", "")
	}
	show := func(state string) {
		if l := levelOf(state); worst(l, s.Badge.Level) == l && l != s.Badge.Level {
			s.Badge = badge{words(state), l}
		}
	}
	for _, v := range status.Views {
		show(string(v.State))
	}
	for _, e := range status.Exports {
		show(string(e.State))
	}
	s.Open = s.Badge.Level != good
	return s
}

// sectionOfHooks sums up the hooks; nil if there are none.
func sectionOfHooks(hooks []report.HookStatus) *section {
	if len(hooks) == 0 {
		return nil
	}
	waiting := 0
	for _, h := range hooks {
		waiting += h.Pending
	}
	s := &section{Badge: badge{"working", good}, Gist: english.Plural(len(hooks), "hook", "")}
	if waiting > 0 {
		s.Gist += ", " + english.Plural(waiting, "event waits", "events wait")
	}
	if badHooks(hooks) > 0 {
		s.Badge, s.Open = badge{"failing", bad}, true
	}
	return s
}

// past lists the newest syncs of a manifest, with their costs.
func past(name string, history report.History) []pastSync {
	var lines []pastSync
	for _, entry := range history.Entries {
		for _, m := range entry.Manifests {
			if m.Name == name && (m.Result != report.Unchanged || m.NewlyStaged) && len(lines) < maxPast {
				lines = append(lines, pastOf(entry, m))
			}
		}
	}
	var most int64
	for _, line := range lines {
		most = max(most, line.BytesDownloaded+line.BytesReused)
	}
	for i := range lines {
		lines[i].Down, lines[i].Kept = percent(lines[i].BytesDownloaded, most), percent(lines[i].BytesReused, most)
	}
	return lines
}

func pastOf(entry report.HistoryRow, m report.ManifestResult) pastSync {
	line := pastSync{ManifestResult: m, Time: entry.Time, Result: string(m.Result), Counted: m.DurationSeconds > 0, Took: took(m.DurationSeconds)}
	switch {
	case m.NewlyStaged && m.Staged != nil:
		line.Release, line.Result = m.Staged.Release, "staged"
	case entry.Trigger == "activate", entry.Trigger == "window":
		if m.Result == report.Updated {
			line.Result = "activated"
		}
	case entry.Trigger == "rollback":
		line.Result = "rolled back"
	case m.Reason != "":
		line.Result += " (" + strings.ReplaceAll(m.Reason, "_", " ") + ")"
	}
	return line
}

func drawDisk(disk report.DiskUse) diskUse {
	use := diskUse{Bytes: disk.Bytes, Free: disk.Free}
	var most int64
	for _, g := range disk.Generations {
		most = max(most, g.Bytes)
	}
	for _, g := range disk.Generations {
		use.Generations = append(use.Generations, generationUse{g, percent(g.Own, most), percent(g.Bytes-g.Own, most)})
	}
	return use
}

func percent(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}
