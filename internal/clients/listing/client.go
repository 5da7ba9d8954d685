// Package listing is the client of the list-retrieval service: SPEC.md, section
// "List-retrieval service", with the facts of the wire. Lists are of six groups,
// narrowed by filters. Counting is free; samples and pages count against the
// customer's package. What the groups differ in, filters and columns, is data
// (filters.txt, columns.txt); the types of the filters are most of the code.
package listing

import (
	"context"
	"fmt"

	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
)

// Client asks for lists. Errors are *service.InputError before anything is sent,
// *service.AnswerError for an answer without LS01, with which the response is
// returned too, and those of transport.Client. Safe for concurrent use.
type Client struct{ *service.Client }

// Request says which records are asked for and what of them. "{Prefix}" in names
// of columns stands for the vendor's word.
type Request struct {
	Includes Filters  // needs one of Zips, Cities, Radius and ShapeWKTs; of new movers CensusKey will do
	Excludes Filters  `json:",omitzero"`
	Columns  []string `json:",omitempty"` // see Columns; other names are sent too
	OrderBy  []Order  `json:",omitempty"`
	Page     int      `json:"-"` // of Lookup, from 1; 0 is the first
}

// Order sorts a list.
type Order struct {
	Column    string    `json:"column"`
	SortOrder SortOrder `json:"sortorder,omitempty"` // Ascending when not given
}

// SortOrder is a direction.
type SortOrder string

// The directions.
const (
	Ascending  SortOrder = "ASC"
	Descending SortOrder = "DESC"
)

// paged is a Request for one page.
type paged struct {
	Request
	Pagination struct {
		Page int `json:",omitempty"`
	}
}

// Response answers every operation.
type Response struct {
	service.Answer `json:"-"`
	Count          int64 // of all records that pass the filters
	JobID          string
	ResultCode     service.Codes
	Message        string
	Unknown        wire.Object
}

// Row is one record: the columns that were asked for, in the caller's spelling.
// Get and Text find one without regard to case.
type Row = wire.Object

// Sample answers getCount.
type Sample struct {
	Response
	Sample []Row // 10, or all when there are fewer
}

// Page answers doLookup.
type Page struct {
	Response
	Results    []Row
	Pagination Pagination
}

// Pagination says where in a list a page stands.
type Pagination struct {
	CurrentPage, TotalPages int64
	NextPage                *int64 // 0 on the last page; nil when the answer does not say
	Unknown                 wire.Object
}

// Count tells how many records pass the filters. It heeds no order and no page,
// and columns only where the wire has them: of new homeowners.
func (c *Client) Count(ctx context.Context, group Group, req Request, form service.Form) (*Response, error) {
	sent := Request{Includes: req.Includes, Excludes: req.Excludes}
	if group == NewHomeowners {
		sent.Columns = req.Columns
	}
	return do[Response](ctx, c, group, doCount, sent, form)
}

// Sample counts and returns up to 10 records. It heeds no page.
func (c *Client) Sample(ctx context.Context, group Group, req Request, form service.Form) (*Sample, error) {
	return do[Sample](ctx, c, group, getCount, req, form)
}

// Lookup returns one page of records. It can take long.
func (c *Client) Lookup(ctx context.Context, group Group, req Request, form service.Form) (*Page, error) {
	sent := paged{Request: req}
	sent.Pagination.Page = req.Page
	return do[Page](ctx, c, group, doLookup, sent, form)
}

func do[R any](ctx context.Context, c *Client, group Group, name string, request any, form service.Form) (*R, error) {
	op := operation(group, name)
	if op == nil {
		return nil, &service.InputError{Operation: name, Problem: fmt.Sprintf("there is no group %q: use one of %v", group, Groups())}
	}
	return service.Do[R](ctx, c.Client, op, form, request)
}
