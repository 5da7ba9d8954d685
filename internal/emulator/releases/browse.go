package releases

import (
	"bytes"
	"cmp"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"syncd/internal/emulator/catalogue"
	"syncd/internal/emulator/wire"
)

var browsePage = template.Must(template.New("browse").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>File releases</title></head>
<body><h1>File releases</h1>
<form action="/Browse"><input type="hidden" name="{{.IDParam}}" value="{{.ID}}">
<select name="mft">{{range .Manifests}}<option{{if eq . $.Manifest}} selected{{end}}>{{.}}</option>{{end}}</select>
<select name="release">{{range .Releases}}<option{{if eq . $.Release}} selected{{end}}>{{.}}</option>{{end}}</select>
<button>Show</button></form>
<table><tr><th>File</th><th>Size</th><th>Release</th><th>Type</th><th>OS</th><th>Compiler</th><th>Architecture</th></tr>
{{range .Rows}}<tr><td><a href="{{.Link}}">{{.Name}}</a></td><td>{{.Size}}</td><td>{{.Release}}</td><td>{{.Class}}</td><td>{{.OS}}</td><td>{{.Compiler}}{{.Language}}</td><td>{{.Architecture}}</td></tr>
{{end}}</table></body></html>
`))

type browseRow struct {
	catalogue.File
	Size int64
	Link string
}

type browseData struct {
	ID, IDParam         string
	Manifests, Releases []string
	Manifest, Release   string
	Rows                []browseRow
}

// browseOrders are the values of sort. A "d" before one means descending.
var browseOrders = map[string]func(a, b browseRow) int{
	"filename":     func(a, b browseRow) int { return strings.Compare(a.Name, b.Name) },
	"size":         func(a, b browseRow) int { return cmp.Compare(a.Size, b.Size) },
	"release":      func(a, b browseRow) int { return catalogue.CompareReleases(a.Release, b.Release) },
	"type":         func(a, b browseRow) int { return strings.Compare(a.Class, b.Class) },
	"os":           func(a, b browseRow) int { return strings.Compare(a.OS, b.OS) },
	"compiler":     func(a, b browseRow) int { return strings.Compare(a.Compiler, b.Compiler) },
	"architecture": func(a, b browseRow) int { return strings.Compare(a.Architecture, b.Architecture) },
}

// browse answers GET /Browse with a page that has no script and no other asset.
func (s *Service) browse(c *call) {
	data := browseData{ID: c.id, IDParam: s.cfg.IDParam, Manifests: s.cfg.Catalogue.Manifests(), Releases: s.cfg.Catalogue.AllReleases()}
	data.Manifest = wire.Parameter(c.query, "mft")
	if data.Manifest == "" && len(data.Manifests) > 0 {
		data.Manifest = data.Manifests[0]
	}
	asked := cmp.Or(wire.Parameter(c.query, "release"), "latest")
	if release, ok := catalogue.ResolveRelease(s.cfg.Catalogue.Releases(data.Manifest), asked); ok {
		l, _ := s.cfg.Catalogue.List(data.Manifest, release)
		data.Release, data.Rows = release, browseRows(c, l)
	}
	sortRows(data.Rows, wire.Parameter(c.query, "sort"))
	var page bytes.Buffer
	if err := browsePage.Execute(&page, data); err != nil {
		c.unreadable(err)
		return
	}
	wire.Write(c.w, http.StatusOK, "text/html; charset=utf-8", page.Bytes())
}

func browseRows(c *call, l catalogue.List) []browseRow {
	var rows []browseRow
	for _, it := range l.Items {
		row := browseRow{File: it.File, Size: -1, Link: link(c.base, it.File, url.QueryEscape(c.id), false)}
		if it.Content != nil {
			row.Size = it.Content.Size()
		}
		rows = append(rows, row)
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
