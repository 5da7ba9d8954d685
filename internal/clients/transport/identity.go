package transport

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// HoldsID is true when a path repeats the Customer ID, and does not only hold it by
// accident.
func (c *Client) HoldsID(path string) bool { return c.redact.repeatedIn(path) }

// stripID removes the query parameters that hold the Customer ID. The others keep their
// order, because signed URLs depend on it.
func (c *Client) stripID(target *url.URL) {
	var kept []string
	for pair := range strings.SplitSeq(target.RawQuery, "&") {
		if !c.isIDParam(pair) {
			kept = append(kept, pair)
		}
	}
	target.RawQuery = strings.Join(kept, "&")
}

// isIDParam is true when a part of a query holds the Customer ID, but not when a date or
// a signature holds a short or numeric one by accident.
func (c *Client) isIDParam(pair string) bool {
	name, value, _ := strings.Cut(pair, "=")
	return c.redact.ForNames().Contains(pair) || c.redact.is(name) || c.redact.is(value) ||
		c.redact.Contains(pair) && strings.EqualFold(name, c.cfg.IDParam)
}

// exactHeaders hold numbers and dates, which callers parse.
var exactHeaders = []string{"Age", "Content-Length", "Content-Range", "Date", "Expires", "Last-Modified", "Retry-After"}

// header removes the Customer ID from headers, which callers store: a service can
// make the ID part of an ETag, or answer with it instead of a date. A redacted ETag would
// never match again, so the ETag is left out, as if the service had sent none.
func (r Redactor) header(h http.Header) http.Header {
	if slices.ContainsFunc(h.Values("Etag"), r.Contains) {
		h.Del("Etag")
	}
	for name, values := range h {
		for i, value := range values {
			if slices.Contains(exactHeaders, name) && !r.isUsualDate(value) {
				if exact, ok := exactValue(value); ok {
					values[i] = exact
					continue
				}
			}
			values[i] = r.String(value)
		}
	}
	return h
}

// isUsualDate is true for the date of most services, which exactValue would not change. Reading
// it takes a few percent of the time of a small request.
func (r Redactor) isUsualDate(value string) bool {
	return len(value) == len(http.TimeFormat) && strings.HasSuffix(value, " GMT") && !r.Contains(value)
}

// exactForm is the form of numbers and ranges.
var exactForm = regexp.MustCompile(`^(bytes )?[0-9*/-]+$`)

// exactValue returns a number as it is, and a date without any text of the service.
func exactValue(value string) (exact string, ok bool) {
	if exactForm.MatchString(value) {
		return value, true
	}
	date, err := http.ParseTime(value)
	return date.UTC().Format(http.TimeFormat), err == nil
}

// Body returns a body without the Customer ID; the body itself when it holds none. In
// JSON only strings change: a number that holds the ID by accident stays a number.
func (r Redactor) Body(b []byte) []byte {
	if start, _ := find(r.search, b, 0); start < 0 {
		return b
	}
	begin, end := bytes.IndexAny(b, "{["), bytes.LastIndexAny(b, "]}")+1 // JSONP has text around the JSON
	if begin < 0 || begin >= end || !json.Valid(b[begin:end]) {
		return r.Bytes(b)
	}
	return slices.Concat(r.Bytes(b[:begin]), r.json(b[begin:end]), r.Bytes(b[end:]))
}

// json returns valid JSON without the Customer ID in its strings.
func (r Redactor) json(b []byte) []byte {
	var out []byte
	for {
		begin := bytes.IndexByte(b, '"') + 1
		if begin == 0 {
			return append(out, b...)
		}
		end := begin
		for b[end] != '"' {
			if b[end] == '\\' {
				end++
			}
			end++
		}
		out = append(append(append(out, b[:begin]...), r.Bytes(b[begin:end])...), '"')
		b = b[end+1:]
	}
}
