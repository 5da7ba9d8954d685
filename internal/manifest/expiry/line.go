package expiry

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// prefix begins a line by which a gate tells the day.
const prefix = "syncd-expires:"

// maxLine is more than such a line has, in bytes.
const maxLine = 64

// Reader finds the lines by which a gate tells the day in its output, and passes all other
// lines on. It needs little memory, however long a line is. The zero value with a To is
// ready.
type Reader struct {
	To io.Writer

	line   []byte // the beginning of the present line, while it may be one of ours, or is
	state  lineState
	day    Day
	broken error // the first line that tells no day
}

// lineState says what the present line is.
type lineState int

const (
	undecided lineState = iota
	isOther
	isOurs
)

// Write takes a part of the output. Its error is that of To.
func (r *Reader) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, isEnd := rest, false
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			part, isEnd = rest[:end+1], true
		}
		rest = rest[len(part):]
		if err := r.take(part); err != nil {
			return 0, err
		}
		if isEnd {
			if err := r.end(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// take takes a part of a line, with its end if that is in the part.
func (r *Reader) take(part []byte) error {
	switch r.state {
	case isOther:
		_, err := r.To.Write(part)
		return err
	case isOurs:
		r.line = append(r.line, part[:min(len(part), maxLine+1-len(r.line))]...)
		return nil
	}
	missing := min(len(prefix)-len(r.line), len(part))
	r.line = append(r.line, part[:missing]...)
	switch {
	case !strings.HasPrefix(prefix, string(r.line)):
		r.state = isOther
		if err := r.flush(); err != nil {
			return err
		}
	case len(r.line) == len(prefix):
		r.state = isOurs
	}
	if missing == len(part) {
		return nil
	}
	return r.take(part[missing:])
}

// flush passes the beginning of a line on that is none of ours.
func (r *Reader) flush() error {
	if len(r.line) == 0 {
		return nil
	}
	_, err := r.To.Write(r.line)
	r.line = r.line[:0]
	return err
}

// end ends the present line.
func (r *Reader) end() (err error) {
	switch r.state {
	case isOurs:
		r.read(string(r.line))
	case undecided:
		err = r.flush()
	}
	r.line, r.state = r.line[:0], undecided
	return err
}

func (r *Reader) read(line string) {
	text := strings.Trim(strings.TrimPrefix(line, prefix), " \t\r\n")
	day, err := ParseDay(text)
	if len(line) > maxLine {
		err = fmt.Errorf("the line is longer than %d bytes", maxLine)
	}
	if err != nil && r.broken == nil {
		r.broken = err
	}
	r.day = Earlier(r.day, day)
}

// Close ends the output, whose rest it passes on. It returns the earliest day that was told,
// "" for none. The error is about a line that tells no day; such an output cannot be trusted.
// Calling it again returns the same.
func (r *Reader) Close() (Day, error) {
	_ = r.end() // To keeps its own errors
	if r.broken != nil {
		return "", fmt.Errorf("%s %w", prefix, r.broken)
	}
	return r.day, nil
}
