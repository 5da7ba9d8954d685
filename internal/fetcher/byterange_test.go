package fetcher

import (
	"fmt"
	"net/http"
	"testing"
)

func rangeOf(text string) (contentRange, error) {
	return parseContentRange(http.Header{"Content-Range": {text}})
}

func TestParseContentRange(t *testing.T) {
	valid := map[string]contentRange{
		"bytes 5-9/10": {5, 9, 10},
		"bytes 5-9/20": {5, 9, 20},
		"bytes 5-9/*":  {5, 9, -1},
		"Bytes 0-0/1":  {0, 0, 1},
		"bytes 9223372036854775806-9223372036854775806/9223372036854775807": {1<<63 - 2, 1<<63 - 2, 1<<63 - 1},
	}
	for text, want := range valid {
		if got, err := rangeOf(text); got != want || err != nil {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "bytes", "5-9/10", "bytes 5-9", "bytes 5-9/", "bytes 5/10", "bytes */10", "bytes */*", "bytes=5-9/10", "items 5-9/10",
		"bytes 5-9/4", "bytes 5-9/9", "bytes 0-0/0", "bytes 9-5/10", "bytes 5-/10", "bytes 5-9/x", "bytes x-9/10", "bytes 5-x/10",
		"bytes -5-9/10", "bytes +5-9/10", "bytes 5--9/10", "bytes 5-9/-10", "bytes  5-9/10", "bytes 5-9 / 10", "bytes 5-9/10, 11-12/20",
		"bytes 5-9/99999999999999999999", "bytes 99999999999999999999-9/100", "bytes 5-9223372036854775808/*",
		"bytes 0-9223372036854775807/*", // the size would overflow
	} {
		if got, err := rangeOf(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func FuzzContentRange(f *testing.F) {
	for _, text := range []string{"bytes 5-9/10", "bytes 5-9/*", "bytes 0-0/0", "bytes */10", "bytes -5-9/10", "items 1-2/3", "bytes 9223372036854775807-9223372036854775807/*"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := rangeOf(text)
		if err != nil {
			return
		}
		if got.start < 0 || got.end < got.start || got.end+1 <= 0 || got.total != -1 && got.total <= got.end {
			t.Fatalf("%q: %+v", text, got)
		}
		again := fmt.Sprintf("bytes %d-%d/%d", got.start, got.end, got.total)
		if got.total < 0 {
			again = fmt.Sprintf("bytes %d-%d/*", got.start, got.end)
		}
		if same, err := rangeOf(again); same != got || err != nil {
			t.Errorf("%q is %+v, and as %q %+v, %v", text, got, again, same, err)
		}
	})
}
