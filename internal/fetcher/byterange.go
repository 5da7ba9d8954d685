package fetcher

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// byteRange is the bytes of a file from `from` up to, but without, `to`.
type byteRange struct{ from, to int64 }

// endless is the end of a file of unknown size.
const endless = math.MaxInt64

// everything is what a request without a Range header asks for.
var everything = byteRange{0, endless}

func (r byteRange) size() int64 { return r.to - r.from }

// String is the value of a Range header.
func (r byteRange) String() string {
	if r.to == endless {
		return fmt.Sprintf("bytes=%d-", r.from)
	}
	return fmt.Sprintf("bytes=%d-%d", r.from, r.to-1)
}

// MarshalJSON writes a range as [from, to].
func (r byteRange) MarshalJSON() ([]byte, error) { return json.Marshal([2]int64{r.from, r.to}) }

// UnmarshalJSON reads what MarshalJSON writes.
func (r *byteRange) UnmarshalJSON(data []byte) error {
	var pair [2]int64
	err := json.Unmarshal(data, &pair)
	*r = byteRange{pair[0], pair[1]}
	return err
}

// clip cuts ranges off at the end of a file of size bytes. It returns nil when they
// are out of order or overlap, because then no range can be trusted.
func clip(ranges []byteRange, size int64) []byteRange {
	var kept []byteRange
	var end int64 = -1
	for _, r := range ranges {
		if r.from <= end || r.to <= r.from || r.from < 0 {
			return nil
		}
		end = r.to
		if r.to = min(r.to, size); r.from < r.to {
			kept = append(kept, r)
		}
	}
	return kept
}

// contentRange is the parsed Content-Range header of a 206. As in the header, end is
// the position of the last byte. total is -1 if the header does not say it.
type contentRange struct{ start, end, total int64 }

// parseContentRange returns an error unless the header holds a possible range.
func parseContentRange(h http.Header) (contentRange, error) {
	text := h.Get("Content-Range")
	unit, rest, _ := strings.Cut(text, " ")
	span, total, _ := strings.Cut(rest, "/")
	start, end, _ := strings.Cut(span, "-")
	r := contentRange{start: position(start), end: position(end), total: position(total)}
	hasTotal := total != "*"
	if !strings.EqualFold(unit, "bytes") || r.start < 0 || r.end < r.start || r.end == math.MaxInt64 || hasTotal && r.total <= r.end {
		return contentRange{}, fmt.Errorf("bad Content-Range %.64q", text)
	}
	return r, nil
}

// position parses a number that consists of digits only; -1 for anything else.
func position(text string) int64 {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return -1
	}
	return int64(n)
}
