package listing_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"syncd/internal/clients/listing"
	"syncd/internal/clients/service/servicetest"
	"syncd/internal/clients/transport"
	"syncd/internal/manifest/refusal"
)

var streets = listing.Request{Includes: areas, Columns: []string{"AddressLine"}}

// onPage returns an answer with one page of a list.
func onPage(current, next int, lines ...string) string {
	rows := make([]string, len(lines))
	for i, line := range lines {
		rows[i] = fmt.Sprintf(`{"AddressLine":%q}`, line)
	}
	total := 3
	if next == 0 {
		total = current
	}
	return fmt.Sprintf(`{"Count":5,"Results":[%s],"Pagination":{"CurrentPage":%d,"NextPage":%d,"TotalPages":%d},"ResultCode":"LS01"}`,
		strings.Join(rows, ","), current, next, total)
}

// read collects the rows of an iterator. It fails the test if rows follow an error.
func read(t *testing.T, ctx context.Context, s *listing.Search) (lines []string, failed error) {
	t.Helper()
	for row, err := range s.Rows(ctx) {
		switch {
		case failed != nil:
			t.Fatalf("row %v and error %v behind error %v", row, err, failed)
		case err != nil:
			failed = err
		default:
			lines = append(lines, row.Text("addressline"))
		}
	}
	return lines, failed
}

// pagesAsked returns the pages that were requested.
func pagesAsked(server *servicetest.Server) (pages []string) {
	for _, request := range server.Requests() {
		_, page, _ := strings.Cut(request, `"Page":`)
		pages = append(pages, strings.TrimRight(page, "}\n"))
	}
	return pages
}

func TestRowsReadAllPages(t *testing.T) {
	type answer struct {
		status int
		body   string
	}
	tests := map[string]struct {
		first   int // page
		answers []answer
		lines   []string
		pages   []string
		want    string // of the error
	}{
		"three pages": {
			0, []answer{{200, onPage(1, 2, "a", "b")}, {200, onPage(2, 3, "c", "d")}, {200, onPage(3, 0, "e")}},
			[]string{"a", "b", "c", "d", "e"}, []string{"1", "2", "3"}, "",
		},
		"from the second": {2, []answer{{200, onPage(2, 3, "c")}, {200, onPage(3, 0, "e")}}, []string{"c", "e"}, []string{"2", "3"}, ""},
		"empty list":      {0, []answer{{200, onPage(1, 0)}}, nil, []string{"1"}, ""},
		"no pagination":   {0, []answer{{200, `{"Results":[{"addressLINE":"a"}],"ResultCode":"LS01"}`}}, []string{"a"}, []string{"1"}, ""},
		"all null":        {0, []answer{{200, `{"Results":null,"Pagination":null,"ResultCode":"LS01"}`}}, nil, []string{"1"}, ""},
		"cut short":       {0, []answer{{200, `{"Count":242,"Results":[{"AddressLine":"a"}],"Pagination":null,"ResultCode":"LS01"}`}}, []string{"a"}, []string{"1"}, "page 1 names no next page after 1 of 242 records"},
		"unreadable":      {0, []answer{{200, `{"Count":242,"Results":[{"AddressLine":"a"}],"Pagination":{"NextPage":"soon"},"ResultCode":"LS01"}`}}, []string{"a"}, []string{"1"}, "names no next page"},
		"not the last":    {0, []answer{{200, `{"Count":242,"Results":[{"AddressLine":"a"}],"Pagination":{"CurrentPage":1,"NextPage":0,"TotalPages":3},"ResultCode":"LS01"}`}}, []string{"a"}, []string{"1"}, "page 1 of 3 claims to be the last"},
		"beyond the last": {0, []answer{{200, `{"Count":1,"Results":[{"AddressLine":"a"}],"Pagination":{"CurrentPage":1,"NextPage":"2.0","TotalPages":1},"ResultCode":"LS01"}`}}, []string{"a"}, []string{"1"}, "page 1 of 1 has a next page"},
		"far away":        {0, []answer{{200, onPage(1, 9, "a")}}, []string{"a"}, []string{"1"}, "page 1 is followed by page 9"},
		"no rows":         {0, []answer{{200, `{"Count":1,"Results":["x"],"Pagination":{"NextPage":0},"ResultCode":"LS01"}`}}, nil, []string{"1"}, "no readable rows"},
		"leads nowhere":   {0, []answer{{200, onPage(1, 2)}}, nil, []string{"1"}, "page 1 is empty and followed by page 2"},
		"stays":           {0, []answer{{200, onPage(1, 1, "a")}}, []string{"a"}, []string{"1"}, "page 1 is followed by page 1"},
		"leads back":      {3, []answer{{200, onPage(3, 1, "e")}}, []string{"e"}, []string{"3"}, "page 3 is followed by page 1"},
		"below zero":      {0, []answer{{200, onPage(1, -1, "a")}}, []string{"a"}, []string{"1"}, "page 1 is followed by page -1"},
		"transient fault": {0, []answer{{503, ""}, {200, onPage(1, 2, "a")}, {503, ""}, {200, onPage(2, 0, "b")}}, []string{"a", "b"}, []string{"1", "1", "2", "2"}, ""},
		"error code":      {0, []answer{{200, onPage(1, 2, "a")}, {200, `{"Results":[{"AddressLine":"x"}],"ResultCode":"GE14","Message":"Spent."}`}}, []string{"a"}, []string{"1", "2"}, "GE14 (out of credit): Spent."},
		"rejected":        {0, []answer{{200, onPage(1, 2, "a")}, {403, ""}}, []string{"a"}, []string{"1", "2"}, "status 403"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := servicetest.Serve(t, http.StatusTeapot, "one answer too few")
			for _, a := range test.answers {
				server.First(a.status, a.body)
			}
			req := streets
			req.Page = test.first
			search := client(server).Search(listing.MAK, req)
			search.Uncounted = true
			lines, err := read(t, t.Context(), search)
			if !slices.Equal(lines, test.lines) {
				t.Errorf("rows %v, want %v", lines, test.lines)
			}
			if pages := pagesAsked(server); !slices.Equal(pages, test.pages) {
				t.Errorf("asked for pages %v, want %v", pages, test.pages)
			}
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestPageThatDoesNotAdvanceIsRefused(t *testing.T) {
	server := servicetest.Serve(t, 0, onPage(1, 1, "a"))
	search := client(server).Search(listing.MAK, streets)
	search.Uncounted = true
	_, err := read(t, t.Context(), search)
	if failed, ok := errors.AsType[*transport.Error](err); refusal.ReasonOf(err) != refusal.BadShape || !ok || failed.Kind != transport.Malformed {
		t.Errorf("got %v", err)
	}
}

func TestRowsNeedACount(t *testing.T) {
	server := servicetest.Serve(t, 0, onPage(1, 0, "a"))
	search := client(server).Search(listing.MAK, streets)
	if _, err := read(t, t.Context(), search); !errors.Is(err, listing.ErrNotCounted) {
		t.Errorf("got %v", err)
	}
	if sent := server.Requests(); len(sent) > 0 {
		t.Errorf("sent %q", sent)
	}
	server.First(200, `{"ResultCode":"SE01"}`)
	if _, err := search.Count(t.Context()); err == nil {
		t.Error("an error code is a count")
	}
	if _, err := read(t, t.Context(), search); !errors.Is(err, listing.ErrNotCounted) {
		t.Errorf("after a count that failed: %v", err)
	}
	if count, err := search.Count(t.Context()); count != 5 || err != nil {
		t.Errorf("counted %d, %v", count, err)
	}
	if lines, err := read(t, t.Context(), search); len(lines) != 1 || err != nil {
		t.Errorf("read %v, %v", lines, err)
	}
}

func TestRowsStopEarly(t *testing.T) {
	server := servicetest.Serve(t, 0, onPage(1, 2, "a", "b"))
	search := client(server).Search(listing.MAK, streets)
	search.Uncounted = true
	for _, err := range search.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if sent := server.Requests(); len(sent) != 1 {
		t.Errorf("sent %q", sent)
	}
}

func TestRowsEndWithTheContext(t *testing.T) {
	server := servicetest.Serve(t, 0, onPage(1, 2, "a", "b"))
	search := client(server).Search(listing.MAK, streets)
	search.Uncounted = true
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var lines []string
	var failed error
	for row, err := range search.Rows(ctx) {
		if err != nil {
			failed = err
			continue
		}
		lines = append(lines, row.Text("AddressLine"))
		cancel()
	}
	if !errors.Is(failed, context.Canceled) || len(lines) != 1 || len(server.Requests()) != 1 {
		t.Errorf("rows %v, error %v", lines, failed)
	}
}
