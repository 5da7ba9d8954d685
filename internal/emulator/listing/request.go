package listing

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"

	"syncd/internal/emulator/service"
	"syncd/internal/emulator/wire"
)

// request is a request for a list. It collects all that is wrong, so that one
// answer names all of it.
type request struct {
	call  *service.Call
	wrong map[string][]string // texts by path into the body
}

func (r *request) fault(path, format string, args ...any) {
	r.wrong[path] = append(r.wrong[path], fmt.Sprintf(format, args...))
}

// acceptable returns whether nothing is wrong. It answers 400 when something is.
func (r *request) acceptable() bool {
	if len(r.wrong) > 0 {
		r.call.InvalidPaths(r.wrong)
	}
	return len(r.wrong) == 0
}

// decode reads a member of the body. null counts as not given.
func (r *request) decode(name string, into any) {
	raw := r.call.Member(name)
	if isNull(raw) {
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		r.fault("$."+name, "The JSON value could not be converted: %v.", err)
	}
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// success returns the members of an answer that holds rows, or none.
func (r *request) success(g *group, rows []row) wire.Fields {
	return wire.Fields{{"Count", len(rows)}, {"JobId", r.job(g)}, {"ResultCode", "LS01"}, {"Message", "Success"}}
}

// job names the set of records. All pages of a set have the same name.
func (r *request) job(g *group) string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %s %s", g.name, r.call.Member("Includes"), r.call.Member("Excludes")) // never fails
	return "job-" + strconv.FormatUint(h.Sum64(), 16)
}

func (r *request) columns() []string {
	var names []string
	if r.decode("Columns", &names); len(names) == 0 && r.wrong["$.Columns"] == nil {
		r.fault("$.Columns", "The Columns field is required.")
	}
	return names
}

// page returns the page asked for, counted from 1.
func (r *request) page() int {
	var asked struct{ Page *int }
	r.decode("Pagination", &asked)
	switch {
	case r.wrong["$.Pagination"] != nil:
		return 1
	case asked.Page == nil:
		r.fault("$.Pagination.Page", "The Page field is required.")
		return 1
	case *asked.Page < 1:
		r.fault("$.Pagination.Page", "The value '%d' is not valid.", *asked.Page)
		return 1
	}
	return *asked.Page
}
