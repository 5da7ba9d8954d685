package listing

import (
	"context"
	"errors"
	"iter"

	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
	"syncd/internal/clients/wire"
	"syncd/internal/manifest/refusal"
)

// ErrNotCounted is the error of Rows before Count. Pages cost money, so a caller
// must know the length of a list first.
var ErrNotCounted = errors.New("the list was not counted yet: call Count first, or set Uncounted")

// Search counts one list and then reads it. Not safe for concurrent use.
type Search struct {
	// Uncounted lets Rows read a list that was not counted.
	Uncounted bool

	client  *Client
	group   Group
	request Request
	counted bool
}

// Search prepares a list. It sends nothing.
func (c *Client) Search(group Group, req Request) *Search {
	return &Search{client: c, group: group, request: req}
}

// Count returns the number of records in the list.
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

// Rows reads the list from the request's page on, with one page in memory. An
// error, or the end of ctx, is yielded in place of a row and ends the sequence.
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

// yieldAll is false when the sequence must end.
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

// pageSize is the number of records on a page.
const pageSize = 100

// before returns the number of records on the pages before the request's page.
func (s *Search) before() int { return (max(s.request.Page, 1) - 1) * pageSize }

// next returns the page that follows, or 0 after the last. It refuses an end
// before all records were read, because the list would pass for complete. It
// refuses a page that leads back or skips one, because the caller would pay for
// pages without end.
func (s *Search) next(page int, seen int64, found *Page) (int, error) {
	next := found.Pagination.NextPage
	switch {
	case found.Unknown.Find("Results") >= 0:
		return 0, s.refuse("page %d has no readable rows", page)
	case next == nil && seen >= found.Count:
		return 0, nil
	case next == nil:
		return 0, s.refuse("page %d names no next page after %d of %d records", page, seen, found.Count)
	case *next == 0 && found.Pagination.TotalPages > int64(page):
		return 0, s.refuse("page %d of %d claims to be the last", page, found.Pagination.TotalPages)
	case *next == 0:
		return 0, nil
	case *next > int64(page)+1:
		return 0, s.refuse("page %d is followed by page %d", page, *next)
	case found.Pagination.TotalPages > 0 && *next > found.Pagination.TotalPages:
		return 0, s.refuse("page %d of %d has a next page", page, found.Pagination.TotalPages)
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
