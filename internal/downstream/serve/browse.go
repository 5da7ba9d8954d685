package serve

import (
	"cmp"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"syncd/internal/downstream/catalog"
	"syncd/internal/httpserver/accounts"
	"syncd/internal/manifest"
)

var browsePage = template.Must(template.New("browse").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>File releases</title></head>
<body><h1>File releases</h1>
<form action="/Browse"><input type="hidden" name="{{.IDParam}}" value="{{.ID}}">
<select name="mft">{{range .Manifests}}<option{{if eq . $.Manifest}} selected{{end}}>{{.}}</option>{{end}}</select>
<select name="release">{{range .Releases}}<option{{if eq . $.Release}} selected{{end}}>{{.}}</option>{{end}}</select>
<button>Show</button></form>
<table><tr><th>File</th><th>Size</th><th>Release</th><th>Type</th><th>OS</th><th>Compiler</th><th>Architecture</th></tr>
{{range .Rows}}<tr><td><a href="{{$.Link .}}">{{.Name}}</a></td><td>{{.Size}}</td><td>{{.Release}}</td><td>{{.Class}}</td><td>{{.OS}}</td><td>{{.Compiler}}{{.Language}}</td><td>{{.Architecture}}</td></tr>
{{end}}</table></body></html>
`))

type browseRow struct {
	manifest.Parts
	Size int64
}

type browseData struct {
	ID, IDParam string
	Manifests   []string
	Releases    []manifest.Release
	Manifest    string
	Release     manifest.Release
	Rows        []browseRow
	links       links
}

// Link is made while the page is written, because a manifest can have 250,000 files. It
// has no slash before the query.
func (d browseData) Link(row browseRow) string { return d.links.linkOf(row.Reference(), false) }

// browseOrders are the values of sort. A "d" before one means descending.
var browseOrders = map[string]func(a, b browseRow) int{
	"filename":     func(a, b browseRow) int { return strings.Compare(a.Name, b.Name) },
	"size":         func(a, b browseRow) int { return cmp.Compare(a.Size, b.Size) },
	"release":      func(a, b browseRow) int { return cmp.Compare(a.Release, b.Release) },
	"type":         func(a, b browseRow) int { return cmp.Compare(a.Class, b.Class) },
	"os":           func(a, b browseRow) int { return strings.Compare(a.OS, b.OS) },
	"compiler":     func(a, b browseRow) int { return strings.Compare(a.Compiler, b.Compiler) },
	"architecture": func(a, b browseRow) int { return strings.Compare(a.Architecture, b.Architecture) },
}

// browseTimeout is how long a client may take to read a page.
const browseTimeout = time.Minute

// places bound the answers of a kind that are being written, because each takes memory.
// Safe for concurrent use.
type places struct {
	most, mostOfOne int

	mu  sync.Mutex // guards what follows
	all int
	of  map[accounts.Identity]int
}

func (p *places) begin(who accounts.Identity) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == p.most || p.of[who] == p.mostOfOne {
		return false
	}
	if p.of == nil {
		p.of = map[accounts.Identity]int{}
	}
	p.all, p.of[who] = p.all+1, p.of[who]+1
	return true
}

func (p *places) end(who accounts.Identity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all, p.of[who] = p.all-1, p.of[who]-1
	if p.of[who] == 0 {
		delete(p.of, who)
	}
}

// browse answers GET /Browse with a page for people, without a script. It holds the id of
// the follower itself, as the provider's page does.
func (c *call) browse() {
	if c.s.pages.begin(c.a.who) {
		defer c.s.pages.end(c.a.who)
	} else {
		c.a.Header().Set("Retry-After", "1")
		c.a.problem(http.StatusServiceUnavailable, typeProblem("tooManyRequests", "Too many pages are being written."))
		return
	}
	_ = c.a.controller().SetWriteDeadline(time.Now().Add(browseTimeout)) // it works on every connection
	c.private()
	h := c.a.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; form-action 'self'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer") // the address holds the id
	c.a.WriteHeader(http.StatusOK)
	if !c.a.head {
		_ = browsePage.Execute(c.a.ResponseWriter, c.browseData()) // it fails when the client is gone
	}
}

func (c *call) browseData() browseData {
	query := c.r.URL.RawQuery
	d := browseData{ID: c.id, IDParam: c.s.cfg.IDParam, Manifests: c.snapshot.Manifests(c.sees()), Releases: c.snapshot.AllReleases(c.sees())}
	if d.Manifest = parameter(query, "mft"); d.Manifest == "" && len(d.Manifests) > 0 {
		d.Manifest = d.Manifests[0]
	}
	revision, err := c.snapshot.Manifest(d.Manifest, cmp.Or(parameter(query, "release"), string(manifest.Latest)), c.sees())
	if err == nil {
		d.Release, d.Rows, d.links = revision.Release, browseRows(revision), c.linksOf(revision)
	}
	sortRows(d.Rows, parameter(query, "sort"))
	return d
}

// browseRows returns the files of a revision.
func browseRows(r *catalog.Revision) []browseRow {
	rows := make([]browseRow, 0, r.Len())
	for f := range r.Files() {
		rows = append(rows, browseRow{Parts: f.Reference().Parts(), Size: f.Size()})
	}
	return rows
}

// sortRows ignores an unknown order.
func sortRows(rows []browseRow, order string) {
	order = strings.ToLower(order)
	if compare := browseOrders[order]; compare != nil {
		slices.SortStableFunc(rows, compare)
		return
	}
	if compare := browseOrders[strings.TrimPrefix(order, "d")]; compare != nil {
		slices.SortStableFunc(rows, func(a, b browseRow) int { return compare(b, a) })
	}
}
