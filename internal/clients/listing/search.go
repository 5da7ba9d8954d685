package listing

import (
	"context"
	"errors"
	"iter"

	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
	"syncd/internal/clients/wire"
	"syncd/internal/refusal"
)

// ErrNotCounted is what Rows gives before Count told how long the list is: pages
// are paid for.
var ErrNotCounted = errors.New("the list was not counted yet: call Count first, or set Uncounted")

// Search is one list, to be counted and then read. Not safe for concurrent use.
type Search struct {
	// Uncounted lets Rows read a list of unknown length.
	Uncounted bool

	client  *Client
	group   Group
	request Request
	counted bool
}

// Search prepares a list; it sends nothing yet.
func (c *Client) Search(group Group, req Request) *Search {
	return &Search{client: c, group: group, request: req}
}

// Count tells how many records the list has.
func (s *Search) Count(ctx context.Context) (int64, error) {
	res, err := s.client.Count(ctx, s.group, s.request, service.Form{})
	if err != nil {
		return 0, err
	}
	if o, _ := res.Value.(wire.Object); o.Text("Count") == "" || res.Unknown.Find("Count") >= 0 {
		return 0, s.refuse("the answer has no count")
	}
	s.counted = true
	return res.Count, nil
}

// Rows reads the list from the request's page on, page by page, with one page in
// memory. An error, and the end of ctx, come in place of a row and end it.
func (s *Search) Rows(ctx context.Context) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		if !s.counted && !s.Uncounted {
			yield(nil, ErrNotCounted)
			return
		}
		req, seen := s.request, int64(s.before())
		for req.Page = max(req.Page, 1); req.Page > 0; {
			found, err := s.client.Lookup(ctx, s.group, req, service.Form{})
			if err != nil {
				yield(nil, err)
				return
			}
			if !yieldAll(ctx, found.Results, yield) {
				return
			}
			seen += int64(len(found.Results))
			if req.Page, err = s.next(req.Page, seen, found); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// yieldAll is false when there shall be no more rows.
func yieldAll(ctx context.Context, rows []Row, yield func(Row, error) bool) bool {
	for _, row := range rows {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return false
		}
		if !yield(row, nil) {
			return false
		}
	}
	return true
}

// pageSize is how many records a page has.
const pageSize = 100

// before is how many records stand on the pages that are not read.
func (s *Search) before() int { return (max(s.request.Page, 1) - 1) * pageSize }

// next is the page behind one, 0 behind the last. A list that ends early without
// saying so would pass for the whole, and pages that lead back, or nowhere, would
// be paid for without end.
func (s *Search) next(page int, seen int64, found *Page) (int, error) {
	next := found.Pagination.NextPage
	switch {
	case found.Unknown.Find("Results") >= 0:
		return 0, s.refuse("page %d has no rows that can be read", page)
	case next == nil && seen >= found.Count:
		return 0, nil
	case next == nil:
		return 0, s.refuse("page %d does not say which one follows, after %d of %d records", page, seen, found.Count)
	case *next == 0 && found.Pagination.TotalPages > int64(page):
		return 0, s.refuse("page %d of %d is said to be the last", page, found.Pagination.TotalPages)
	case *next == 0:
		return 0, nil
	case *next > int64(page)+1:
		return 0, s.refuse("page %d is followed by page %d", page, *next)
	case found.Pagination.TotalPages > 0 && *next > found.Pagination.TotalPages:
		return 0, s.refuse("page %d of %d is followed by another", page, found.Pagination.TotalPages)
	case *next <= int64(page):
		return 0, s.refuse("page %d is followed by page %d", page, *next)
	case len(found.Results) == 0:
		return 0, s.refuse("page %d is empty and followed by page %d", page, *next)
	}
	return int(*next), nil
}

func (s *Search) refuse(format string, args ...any) error {
	return &transport.Error{
		Kind: transport.Malformed, Endpoint: "list", Path: "/" + operation(s.group, doLookup).Name,
		Err: refusal.New(refusal.BadShape, format, args...),
	}
}
