package releases

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"unicode"
	"unicode/utf8"

	"syncd/internal/manifest/refusal"
)

// maxItem limits what a parser may buffer for one item of a list, in bytes.
const maxItem = 64 << 10

var errTooLong = refusal.New(refusal.TooLarge, "list with an entry of over %d bytes", maxItem)

// source gives a body to a parser. It ends when its context does, and before the parser
// has buffered more than maxItem bytes for one item.
type source struct {
	ctx   context.Context //nolint:containedctx // a source lives as long as its request
	body  *bufio.Reader
	given int64 // bytes that the parser has read
	used  int64 // bytes of items that the parser has finished; the parser's caller sets it
	err   error // the first failure, which the parser may hide
}

func newSource(ctx context.Context, body io.Reader) *source {
	return &source{ctx: ctx, body: bufio.NewReaderSize(body, maxItem)}
}

// unbounded removes the limit on buffered bytes. The caller must limit them.
func (s *source) unbounded() { s.used = math.MaxInt64 / 2 }

func (s *source) Read(p []byte) (int, error) {
	room := s.used + maxItem - s.given
	switch {
	case s.err != nil:
	case s.ctx.Err() != nil:
		s.err = context.Cause(s.ctx)
	case room <= 0:
		s.err = errTooLong
	}
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.body.Read(p[:min(int64(len(p)), room)])
	s.given += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// skipSpace skips white space and the byte order mark that some servers send.
func (s *source) skipSpace() error {
	skipSpace(s.body)
	if head, _ := s.body.Peek(len(mark)); string(head) == mark {
		_, _ = s.body.Discard(len(mark)) // they are in the buffer
		skipSpace(s.body)
	}
	return s.ctx.Err()
}

const mark = "\ufeff"

// peek returns the beginning of the body, or the whole without the white space at its end.
func (s *source) peek() (head []byte, whole bool, err error) {
	head, err = s.body.Peek(maxItem)
	if errors.Is(err, io.EOF) {
		return bytes.TrimSpace(head), true, nil
	}
	return head, false, err
}

func skipSpace(r *bufio.Reader) {
	for {
		c, size, err := r.ReadRune()
		if err != nil {
			return
		}
		if !unicode.IsSpace(c) || c == utf8.RuneError && size == 1 {
			_ = r.UnreadRune() // cannot fail after ReadRune
			return
		}
	}
}

// endOf is true when nothing is left to read.
func endOf(r *bufio.Reader) bool {
	_, err := r.Peek(1)
	return errors.Is(err, io.EOF)
}
