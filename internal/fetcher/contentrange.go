package fetcher

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// contentRange is which bytes of how many a 206 brings; end is the last one's
// place, total is -1 when not told.
type contentRange struct{ start, end, total int64 }

// parseContentRange accepts only a range that can be.
func parseContentRange(h http.Header) (contentRange, error) {
	text := h.Get("Content-Range")
	unit, rest, _ := strings.Cut(text, " ")
	span, total, _ := strings.Cut(rest, "/")
	start, end, _ := strings.Cut(span, "-")
	r := contentRange{start: position(start), end: position(end), total: position(total)}
	isTold := total != "*"
	if !strings.EqualFold(unit, "bytes") || r.start < 0 || r.end < r.start || r.end == math.MaxInt64 || isTold && r.total <= r.end {
		return contentRange{}, fmt.Errorf("bad Content-Range %.64q", text)
	}
	return r, nil
}

// position reads a number of digits only; -1 for anything else.
func position(text string) int64 {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return -1
	}
	return int64(n)
}
