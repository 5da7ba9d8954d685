package emulator

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	listPageSize   = 100
	listSampleSize = 10
)

// listOperations are the 18 endpoints: three operations for each group.
func (e *Emulator) listOperations() map[string]operation {
	includes := []input{{post: "Includes", kind: anyInput}, {post: "Excludes", kind: anyInput}}
	columns := input{post: "Columns", kind: anyInput}
	order := input{post: "OrderBy", kind: anyInput}
	page := input{post: "Pagination", kind: anyInput}
	operations := make(map[string]operation)
	for _, g := range e.listGroups() {
		count := slices.Clone(includes)
		if g.name == "NewHomeowners" {
			count = append(count, columns) // alone among the groups
		}
		operations[g.name+"/doCount"] = listOperation(listCount, g.doCount, count)
		operations[g.name+"/getCount"] = listOperation(listSample, g.getCount, slices.Concat(includes, []input{columns, order}))
		operations[g.name+"/doLookup"] = listOperation(listPage, g.doLookup, slices.Concat(includes, []input{columns, order, page}))
	}
	return operations
}

func listOperation(response fields, handle func(*listCall), inputs []input) operation {
	// There is no transmission reference here.
	inputs = append(inputs, input{post: customerID})
	return operation{
		methods: onlyPost, inputs: inputs, strict: true, response: document{members: response},
		codes: "ResultCode", text: "Message", unknownID: "GE05",
		handle: func(c *serviceCall) { handle(&listCall{serviceCall: c, wrong: make(map[string][]string)}) },
	}
}

// The answers of the three operations, blank.
var (
	listCount  = fields{{"Count", 0}, {"JobId", ""}, {"ResultCode", ""}, {"Message", ""}}
	listSample = fields{{"Count", 0}, {"Sample", list{}}, {"JobId", ""}, {"ResultCode", ""}, {"Message", ""}}
	listPage   = fields{
		{"Count", 0}, {"Results", list{}}, {"Pagination", pagination(0, 0, 0)},
		{"JobId", ""}, {"ResultCode", ""}, {"Message", ""},
	}
)

func pagination(current, next, total int) fields {
	return fields{{"CurrentPage", current}, {"NextPage", next}, {"TotalPages", total}}
}

// listCall is a request for a list. What is wrong with it is collected, so that
// one answer names all of it.
type listCall struct {
	*serviceCall
	wrong map[string][]string
}

func (c *listCall) fault(path, format string, args ...any) {
	c.wrong[path] = append(c.wrong[path], fmt.Sprintf(format, args...))
}

// acceptable answers 400 when anything is wrong.
func (c *listCall) acceptable() bool {
	if len(c.wrong) > 0 {
		invalidRequest(http.StatusBadRequest, c.wrong).write(c.w)
	}
	return len(c.wrong) == 0
}

// decode reads a member of the body; null is as good as not given.
func (c *listCall) decode(name string, into any) (given bool) {
	raw := c.member(name)
	if isNull(raw) {
		return false
	}
	if err := json.Unmarshal(raw, into); err != nil {
		c.fault("$."+name, "The JSON value could not be converted: %v.", err)
	}
	return true
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// POST /{group}/doCount
func (g *listGroup) doCount(c *listCall) {
	rows := g.selected(c)
	if c.acceptable() {
		c.reply(c.success(g, rows))
	}
}

// POST /{group}/getCount
func (g *listGroup) getCount(c *listCall) {
	rows, columns := g.selected(c), c.columns()
	g.sort(c, rows)
	if !c.acceptable() {
		return
	}
	sample := g.render(columns, rows[:min(len(rows), listSampleSize)])
	c.reply(append(c.success(g, rows), field{"Sample", sample}))
}

// POST /{group}/doLookup
func (g *listGroup) doLookup(c *listCall) {
	rows, columns, page := g.selected(c), c.columns(), c.page()
	g.sort(c, rows)
	if !c.acceptable() {
		return
	}
	pages := (len(rows) + listPageSize - 1) / listPageSize
	next := 0
	if page < pages {
		next = page + 1
	}
	first := min(page-1, pages) * listPageSize
	shown := rows[min(first, len(rows)):min(first+listPageSize, len(rows))]
	c.reply(append(c.success(g, rows),
		field{"Results", g.render(columns, shown)}, field{"Pagination", pagination(page, next, pages)}))
}

// success is also what no record at all gets.
func (c *listCall) success(g *listGroup, rows []listRow) fields {
	return fields{{"Count", len(rows)}, {"JobId", c.job(g)}, {"ResultCode", "LS01"}, {"Message", "Success"}}
}

// job names the set of records: the same for all pages of it.
func (c *listCall) job(g *listGroup) string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %s %s", g.name, c.member("Includes"), c.member("Excludes")) // never fails
	return "job-" + strconv.FormatUint(h.Sum64(), 16)
}

func (c *listCall) columns() []string {
	var names []string
	if c.decode("Columns", &names); len(names) == 0 && c.wrong["$.Columns"] == nil {
		c.fault("$.Columns", "The Columns field is required.")
	}
	return names
}

func (c *listCall) page() int {
	var asked struct{ Page *int }
	c.decode("Pagination", &asked)
	switch {
	case c.wrong["$.Pagination"] != nil:
		return 1
	case asked.Page == nil:
		c.fault("$.Pagination.Page", "The Page field is required.")
		return 1
	case *asked.Page < 1:
		c.fault("$.Pagination.Page", "The value '%d' is not valid.", *asked.Page)
		return 1
	}
	return *asked.Page
}

// sort heeds OrderBy; rows that are equal in it keep their order.
func (g *listGroup) sort(c *listCall, rows []listRow) {
	var order []struct{ Column, SortOrder string }
	c.decode("OrderBy", &order)
	for i, o := range order {
		if o.Column == "" {
			c.fault(fmt.Sprintf("$.OrderBy[%d].column", i), "The column field is required.")
		}
		if s := strings.ToUpper(o.SortOrder); s != "" && s != "ASC" && s != "DESC" {
			c.fault(fmt.Sprintf("$.OrderBy[%d].sortorder", i), "The value '%s' is not valid.", o.SortOrder)
		}
	}
	slices.SortStableFunc(rows, func(a, b listRow) int {
		for _, o := range order {
			n := compareValues(g.value(o.Column, a), g.value(o.Column, b))
			if strings.EqualFold(o.SortOrder, "DESC") {
				n = -n
			}
			if n != 0 {
				return n
			}
		}
		return 0
	})
}

// compareValues puts null first, then numbers, then texts.
func compareValues(a, b any) int {
	x, xText := a.(string)
	y, yText := b.(string)
	if xText && yText {
		return strings.Compare(x, y)
	}
	return int(number(a) - number(b))
}

// number is a column's value as one; flags are 0 and 1, null is below them.
func number(v any) int64 {
	switch v := v.(type) {
	case int:
		return int64(v)
	case json.Number:
		n, _ := v.Int64() // keys are digits
		return n
	case bool:
		if v {
			return 1
		}
		return 0
	}
	return -1
}

// render keeps the columns in the order and in the spelling of the caller.
func (g *listGroup) render(columns []string, rows []listRow) list {
	var rendered list
	for _, row := range rows {
		out := make(fields, len(columns))
		for i, name := range columns {
			out[i] = field{name, g.value(name, row)}
		}
		rendered.rows = append(rendered.rows, out)
	}
	return rendered
}
