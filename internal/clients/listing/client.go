package listing

import (
	"context"
	"fmt"

	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
)

// Client counts and reads lists. Errors are *service.InputError before anything
// is sent, *service.AnswerError for an answer without LS01, and those of
// transport.Client. The response is returned with an *AnswerError too. Safe for
// concurrent use.
type Client struct{ *service.Client }

// Request chooses records and their columns. "{Prefix}" in names of columns
// stands for the vendor's word.
type Request struct {
	Includes Filters  // needs one of Zips, Cities, Radius, ShapeWKTs; for NewMovers also CensusKey
	Excludes Filters  `json:",omitzero"`
	Columns  []string `json:",omitempty"` // see the function Columns; other names are sent too
	OrderBy  []Order  `json:",omitempty"`
	Page     int      `json:"-"` // of Lookup, from 1; 0 is the first
}

// Order sorts a list.
type Order struct {
	Column    string    `json:"column"`
	SortOrder SortOrder `json:"sortorder,omitempty"` // Ascending by default
}

// SortOrder is a direction.
type SortOrder string

// The directions.
const (
	Ascending  SortOrder = "ASC"
	Descending SortOrder = "DESC"
)

type paged struct {
	Request
	Pagination struct {
		Page int `json:",omitempty"`
	}
}

// Response answers every operation.
type Response struct {
	service.Answer `json:"-"`
	Count          int64 // all records that match
	JobID          string
	ResultCode     service.Codes
	Message        string
	Unknown        wire.Object
}

// Row is one record: the requested columns, in the caller's spelling. Get and
// Text ignore case.
type Row = wire.Object

// Sample answers getCount.
type Sample struct {
	Response
	Sample []Row // 10, or all if there are fewer
}

// Page answers doLookup.
type Page struct {
	Response
	Results    []Row
	Pagination Pagination
}

// Pagination is the place of a page in its list.
type Pagination struct {
	CurrentPage, TotalPages int64
	NextPage                *int64 // 0 on the last page; nil if the answer has none
	Unknown                 wire.Object
}

// Count counts the records that match. It ignores the order and the page, and
// sends columns only for NewHomeowners, the one group where the service takes them.
func (c *Client) Count(ctx context.Context, group Group, req Request, form service.Form) (*Response, error) {
	sent := Request{Includes: req.Includes, Excludes: req.Excludes}
	if group == NewHomeowners {
		sent.Columns = req.Columns
	}
	return do[Response](ctx, c, group, doCount, sent, form)
}

// Sample counts and returns up to 10 records. It ignores the page.
func (c *Client) Sample(ctx context.Context, group Group, req Request, form service.Form) (*Sample, error) {
	return do[Sample](ctx, c, group, getCount, req, form)
}

// Lookup returns one page of records. It can be slow.
func (c *Client) Lookup(ctx context.Context, group Group, req Request, form service.Form) (*Page, error) {
	sent := paged{Request: req}
	sent.Pagination.Page = req.Page
	return do[Page](ctx, c, group, doLookup, sent, form)
}

func do[R any](ctx context.Context, c *Client, group Group, name string, request any, form service.Form) (*R, error) {
	op := operation(group, name)
	if op == nil {
		return nil, &service.InputError{Operation: name, Problem: fmt.Sprintf("unknown group %q: use one of %v", group, Groups())}
	}
	return service.Do[R](ctx, c.Client, op, form, request)
}
