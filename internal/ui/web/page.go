package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
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
	Title      string
	Note       string
	Now        time.Time
	Generation int
	DataDir    string
	Manifests  []card
	Hooks      []report.HookStatus
	Views      []report.ViewStatus
	Exports    []report.ExportStatus
	Disk       diskUse
	Scrub      *report.ScrubStatus
	Upload     *report.UploadStatus
	Fleet      *fleetCard // nil if there are no followers
}

type card struct {
	report.ManifestStatus
	StateWord  string
	LastError  string // while syncing: the explanation shows the progress then
	Configured string // unless it is latest
	Percent    int
	Past       []pastSync
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
	now      func() time.Time // its zone is the page's
	renderer renderer
	template *template.Template
}

func newPages(source Source, now func() time.Time, views renderer) *pages {
	p := &pages{source: source, now: now, renderer: views}
	p.template = template.Must(template.New("page.html").Funcs(template.FuncMap{
		"bytes": func(n int64) string { return humanize.IBytes(uint64(max(n, 0))) },
		"iso":   func(t any) string { return moment(t).UTC().Format(time.RFC3339) },
		"clock": func(t any) string { return moment(t).In(now().Location()).Format("2006-01-02 15:04 MST") },
		"ago":   func(t any) string { return relative(moment(t), now()) },
		"words": func(state any) string { return words(fmt.Sprint(state)) },
	}).ParseFS(assets, "assets/page.html"))
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

// moment is a time.Time or the time that a *time.Time points to.
func moment(t any) time.Time {
	if at, pointer := t.(*time.Time); pointer {
		return *at
	}
	return t.(time.Time)
}

// relative is the distance of a time from now, in a fitting unit.
func relative(t, now time.Time) string {
	away := now.Sub(t)
	form := "%s ago"
	if away < 0 {
		away, form = -away, "in %s"
	}
	const day = 24 * time.Hour
	switch {
	case away < time.Minute:
		return fmt.Sprintf(form, "less than a minute")
	case away < 2*time.Hour:
		return fmt.Sprintf(form, english.Plural(int(away/time.Minute), "minute", ""))
	case away < 2*day:
		return fmt.Sprintf(form, english.Plural(int(away/time.Hour), "hour", ""))
	}
	return fmt.Sprintf(form, english.Plural(int(away/day), "day", ""))
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
	view := page{
		Title: title(status), Note: note(query, status), Now: p.now(), Generation: status.Generation, DataDir: status.DataDir, Disk: drawDisk(disk),
		Views: status.Views, Exports: status.Exports, Hooks: status.Hooks, Scrub: status.Scrub, Upload: status.Upload,
		Fleet: cardOfFleet(p.source.Followers(maxFollowers)),
	}
	for _, m := range status.Manifests {
		view.Manifests = append(view.Manifests, cardOf(m, history))
	}
	return view, nil
}

// title shows in the browser's tab how much needs attention: manifests, views, exports, hooks and
// publishing.
func title(status report.Status) string {
	bad := 0
	count := func(state string) {
		if state == string(report.StateFailed) || state == string(report.StateRefused) || state == string(report.StateQuarantined) || state == string(report.StateDamaged) {
			bad++
		}
	}
	for _, m := range status.Manifests {
		count(string(m.State))
	}
	for _, v := range status.Views {
		count(string(v.State))
	}
	for _, e := range status.Exports {
		count(string(e.State))
	}
	for _, h := range status.Hooks {
		if h.IsFailing() {
			bad++
		}
	}
	if status.Upload != nil {
		count(string(status.Upload.State))
	}
	if bad > 0 {
		return fmt.Sprintf("(%d) syncd", bad)
	}
	return "syncd"
}

// note confirms a request of the page's form. The parameter asked names the manifest;
// empty means all.
func note(query url.Values, status report.Status) string {
	for _, row := range []struct{ key, text string }{
		{"asked", "A sync%s was requested. It starts now, or after the running one."},
		{"activated", "The activation%s was requested. The log says if it fails."},
		{"discarded", "To discard what is staged%s was requested."},
	} {
		name := query.Get(row.key)
		if !query.Has(row.key) {
			continue
		}
		if name == "" {
			return fmt.Sprintf(row.text, "")
		}
		if _, found := unknown(status, []string{name}); !found {
			return fmt.Sprintf(row.text, " of "+name)
		}
	}
	return ""
}

func cardOf(m report.ManifestStatus, history report.History) card {
	c := card{ManifestStatus: m, StateWord: words(m.State), Past: past(m.Name, history)}
	if m.State == report.StateSyncing {
		c.LastError = m.Error
	}
	if m.Wanted != string(manifest.Latest) && m.State != report.StateOrphaned {
		c.Configured = "configured: " + m.Wanted
	}
	if m.Pin != "" {
		c.Configured = "pinned by command: " + m.Pin
	}
	if p := m.Progress; p != nil && p.BytesTotal > 0 {
		c.Percent = int(min(100, 100*p.BytesDone/p.BytesTotal))
	}
	return c
}

// words shows a state to people.
func words[S ~string](state S) string { return strings.ReplaceAll(string(state), "_", " ") }

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

// took rounds a duration by its size.
func took(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
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
