package releases

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"syncd/internal/manifest/refusal"
)

func TestOneBadLinkRefusesTheListAndIsNamedByItsPlace(t *testing.T) {
	list, err := connect(t, "http://127.0.0.1:1").readFiles(t.Context(), strings.NewReader("/Download/Data/2026.10/a\n/Download/Data/2026.10/..\n/Download/Data/2026.10/c"), nil)
	if list != nil || refusal.ReasonOf(err) != refusal.BadName || !strings.HasPrefix(err.Error(), "entry 2: ") {
		t.Errorf("%v, %v, want a refusal of entry 2", list, err)
	}
}

// endless is a list of escaped links. It counts what is read after cancel.
type endless struct {
	sent, after int
	cancel      context.CancelFunc
}

func (e *endless) Read(p []byte) (int, error) {
	const link = `"/Download/Data/2026.10/%2525%2525%2525%2525%2525%2525%2525%2525%2525%2525%2525%2525%2525%2525%2525%2525",`
	n := 0
	if e.sent == 0 {
		n = copy(p, "[")
	}
	for n < len(p) {
		n += copy(p[n:], link[(e.sent+n+len(link)-1)%len(link):])
	}
	if e.sent += n; e.sent > 1<<20 {
		e.cancel()
		e.after += n
	}
	return n, nil
}

func TestACancelledListIsNotReadToItsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	body := &endless{cancel: cancel}
	list, err := connect(t, "http://127.0.0.1:1").readFiles(ctx, body, nil)
	if list != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v, want the context's error", list, err)
	}
	if body.after > 2*maxItem {
		t.Errorf("%d bytes read after the cancellation, want at most %d", body.after, 2*maxItem)
	}
}

func TestALinkOfOver8KiBIsRefused(t *testing.T) {
	for length, want := range map[int]refusal.Reason{8 << 10: "", 8<<10 + 1: refusal.BadShape} {
		link := "/Download/Data/2026.10/a?"
		link += strings.Repeat("x", length-len(link))
		_, err := connect(t, "http://127.0.0.1:1").readFiles(t.Context(), strings.NewReader(link), nil)
		if refusal.ReasonOf(err) != want {
			t.Errorf("%d bytes: %v, want reason %q", length, err, want)
		}
	}
}

// repeated is a body that repeats a piece. It counts what is read.
type repeated struct {
	piece string
	text  string // the piece, many times
	read  int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.read%len(r.piece):])
	r.read += n
	return n, nil
}

func TestAListOfEmptyItemsIsGivenUpAfterAMillion(t *testing.T) {
	for _, piece := range []string{",", "a" + strings.Repeat("\n", 60), "a://b,,,,\n,,,\n", "<a></a>", "<!---->", "<?a?>"} {
		body := &repeated{piece: piece, text: strings.Repeat(piece, 10_000)}
		_, err := connect(t, "http://127.0.0.1:1").readFiles(t.Context(), io.LimitReader(body, maxList), nil)
		if refusal.ReasonOf(err) != refusal.TooLarge || body.read > 16<<20 {
			t.Errorf("%q: %v after %d bytes, want a refusal within 16 MiB", piece, err, body.read)
		}
	}
}
