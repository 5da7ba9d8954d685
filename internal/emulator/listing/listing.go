package listing

import (
	"slices"

	"syncd/internal/emulator/service"
	"syncd/internal/emulator/wire"
)

// Path is the base path of the operations.
const Path = "/list/web/V1"

const (
	pageSize   = 100
	sampleSize = 10
)

// New returns the service. It has three operations for each of the six groups.
func New(cfg service.Config) *service.Service {
	includes := []service.Input{{Body: "Includes", Kind: service.Any}, {Body: "Excludes", Kind: service.Any}}
	columns := service.Input{Body: "Columns", Kind: service.Any}
	order := service.Input{Body: "OrderBy", Kind: service.Any}
	page := service.Input{Body: "Pagination", Kind: service.Any}
	operations := make(map[string]service.Operation)
	for _, g := range groups(cfg) {
		count := slices.Clone(includes)
		if g.name == "NewHomeowners" { // the only group whose doCount takes columns
			count = append(count, columns)
		}
		operations[g.name+"/doCount"] = operation(countResponse, g.doCount, count)
		operations[g.name+"/getCount"] = operation(sampleResponse, g.getCount, slices.Concat(includes, []service.Input{columns, order}))
		operations[g.name+"/doLookup"] = operation(pageResponse, g.doLookup, slices.Concat(includes, []service.Input{columns, order, page}))
	}
	return &service.Service{Path: Path, CustomerID: cfg.CustomerID, Operations: operations}
}

func operation(response wire.Fields, handle func(*request), inputs []service.Input) service.Operation {
	// This service has no transmission reference.
	inputs = append(inputs, service.Input{Body: service.CustomerID})
	return service.Operation{
		Methods: service.OnlyPost, Inputs: inputs, Strict: true, Response: wire.Document{Members: response},
		Codes: "ResultCode", Text: "Message", UnknownID: "GE05",
		Handle: func(c *service.Call) { handle(&request{call: c, wrong: make(map[string][]string)}) },
	}
}

// The blank responses of the three operations.
var (
	countResponse  = wire.Fields{{"Count", 0}, {"JobId", ""}, {"ResultCode", ""}, {"Message", ""}}
	sampleResponse = wire.Fields{{"Count", 0}, {"Sample", wire.List{}}, {"JobId", ""}, {"ResultCode", ""}, {"Message", ""}}
	pageResponse   = wire.Fields{
		{"Count", 0}, {"Results", wire.List{}}, {"Pagination", pagination(0, 0, 0)},
		{"JobId", ""}, {"ResultCode", ""}, {"Message", ""},
	}
)

func pagination(current, next, total int) wire.Fields {
	return wire.Fields{{"CurrentPage", current}, {"NextPage", next}, {"TotalPages", total}}
}

// doCount answers POST /{group}/doCount.
func (g *group) doCount(r *request) {
	rows := g.selected(r)
	if r.acceptable() {
		r.call.Reply(r.success(g, rows))
	}
}

// getCount answers POST /{group}/getCount.
func (g *group) getCount(r *request) {
	rows, columns := g.selected(r), r.columns()
	g.sort(r, rows)
	if !r.acceptable() {
		return
	}
	sample := g.render(columns, rows[:min(len(rows), sampleSize)])
	r.call.Reply(append(r.success(g, rows), wire.Field{Key: "Sample", Value: sample}))
}

// doLookup answers POST /{group}/doLookup.
func (g *group) doLookup(r *request) {
	rows, columns, page := g.selected(r), r.columns(), r.page()
	g.sort(r, rows)
	if !r.acceptable() {
		return
	}
	pages := (len(rows) + pageSize - 1) / pageSize
	next := 0
	if page < pages {
		next = page + 1
	}
	first := min(page-1, pages) * pageSize
	shown := rows[min(first, len(rows)):min(first+pageSize, len(rows))]
	r.call.Reply(append(r.success(g, rows), wire.Fields{
		{"Results", g.render(columns, shown)}, {"Pagination", pagination(page, next, pages)},
	}...))
}
