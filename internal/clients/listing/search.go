package listing

import (
	"context"
	"errors"
	"iter"

	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
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
		req := s.request
		for req.Page = max(req.Page, 1); req.Page > 0; {
			found, err := s.client.Lookup(ctx, s.group, req, service.Form{})
			if err != nil {
				yield(nil, err)
				return
			}
			if !yieldAll(ctx, found.Results, yield) {
				return
			}
			if req.Page, err = s.next(req.Page, found); err != nil {
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

// next is the page behind one, 0 behind the last. A service that leads back would
// be paid for the same pages for ever.
func (s *Search) next(page int, found *Page) (int, error) {
	next := int(found.Pagination.NextPage)
	if next == 0 || next > page {
		return next, nil
	}
	return 0, &transport.Error{
		Kind: transport.Malformed, Endpoint: "list", Path: "/" + operation(s.group, doLookup).Name,
		Err: refusal.New(refusal.BadShape, "page %d is followed by page %d", page, next),
	}
}
