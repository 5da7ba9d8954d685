package gate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"syncd/internal/host/command"
	"syncd/internal/manifest/expiry"
)

// Limits of a comparison.
const (
	maxShown = 20      // differences that are kept
	maxText  = 200     // bytes of a line that are shown
	maxSpool = 1 << 30 // bytes of the output for the served tree, which lie on disk meanwhile
)

// compare runs the command for the served tree, which goes to the disk, and then for the
// new one, whose lines are compared as they come.
func (g Gate) compare(ctx context.Context, subject Subject, spool func() (*os.File, error)) (Finding, error) {
	served, err := spool()
	if err != nil {
		return Finding{}, g.spoolError(err)
	}
	defer served.Close()
	var tail command.Tail
	out := &limited{to: bufio.NewWriterSize(served, 1<<20), left: maxSpool}
	old := &expiry.Reader{To: out} // each release has another day, which is no difference
	err = g.run(ctx, subject, subject.before(), old, &tail)
	if failed := g.failure(ctx, err); failed != nil {
		return Finding{}, failed
	}
	_, _ = old.Close() // the day of the served revision is known
	if failed := errors.Join(out.err, out.to.Flush()); failed != nil {
		return Finding{}, g.spoolError(failed)
	}
	if err = errors.Join(err, out.excess()); err != nil {
		return g.finding(fmt.Errorf("for the served revision: %w", err), tail.Lines()), nil
	}
	if _, err := served.Seek(0, io.SeekStart); err != nil {
		return Finding{}, g.spoolError(err)
	}
	return g.compareNew(ctx, subject, served)
}

func (g Gate) spoolError(err error) error {
	return fmt.Errorf("keep the output of the gate %s: %w", g.Command[0], err)
}

func (g Gate) compareNew(ctx context.Context, subject Subject, served io.Reader) (Finding, error) {
	var tail command.Tail
	read, write := io.Pipe()
	compared := make(chan comparison, 1)
	go func() {
		c := compareLines(served, read)
		_, _ = io.Copy(io.Discard, read) // after an error the command must still end
		compared <- c
	}()
	out := &expiry.Reader{To: write}
	err := g.run(ctx, subject, subject.after(), out, &tail)
	_, _ = out.Close() // passes the end of the output on; dated looks at the rest
	write.Close()
	c := <-compared
	if failed := g.failure(ctx, err); failed != nil {
		return Finding{}, failed
	}
	if c.err != nil {
		return Finding{}, g.spoolError(c.err)
	}
	if err != nil {
		return g.finding(err, tail.Lines()), nil
	}
	finding := Finding{Passed: c.share() <= g.Changed, Lines: tail.Lines(), Differences: c.shown}
	if !finding.Passed {
		finding.Error = fmt.Sprintf("the gate %s refused it: %d of %d lines differ (%.4g%%), more than max_changed %.4g%%",
			g.Command[0], c.differ, c.lines, 100*c.share(), 100*g.Changed)
		if len(c.shown) > 0 {
			finding.Error += "; first " + c.shown[0]
		}
	}
	return g.dated(finding, out), nil
}

// limited writes so many bytes, but takes all: a command whose output is not read would
// wait until its timeout.
type limited struct {
	to   *bufio.Writer
	left int64
	err  error // of writing
}

func (l *limited) Write(p []byte) (int, error) {
	l.left -= int64(len(p))
	if l.left >= 0 && l.err == nil {
		_, l.err = l.to.Write(p)
	}
	return len(p), nil
}

// excess is an error if there were more bytes.
func (l *limited) excess() error {
	if l.left < 0 {
		return fmt.Errorf("its output is longer than %d bytes", maxSpool)
	}
	return nil
}

// comparison counts the lines that differ.
type comparison struct {
	lines, differ int
	shown         []string
	err           error
}

// share is how many of the lines differ, 0 to 1.
func (c comparison) share() float64 {
	if c.lines == 0 {
		return 0
	}
	return float64(c.differ) / float64(c.lines)
}

// compareLines compares the lines of two outputs in order. A line that only one of them
// has differs. Both are read once, in little memory however long a line is.
func compareLines(served, staged io.Reader) (c comparison) {
	a, b := newLineReader(served), newLineReader(staged)
	b.sum.SetSeed(a.sum.Seed())
	for {
		before, hadBefore, err := a.next()
		after, hasAfter, errAfter := b.next()
		if c.err = errors.Join(err, errAfter); c.err != nil || !hadBefore && !hasAfter {
			return c
		}
		c.lines++
		if hadBefore == hasAfter && before == after {
			continue
		}
		if c.differ++; len(c.shown) < maxShown {
			c.shown = append(c.shown, difference(c.lines, before, after, hadBefore, hasAfter))
		}
	}
}

func difference(number int, before, after line, hadBefore, hasAfter bool) string {
	switch {
	case !hadBefore:
		return fmt.Sprintf("line %d: + %s", number, after)
	case !hasAfter:
		return fmt.Sprintf("line %d: - %s", number, before)
	}
	return fmt.Sprintf("line %d: - %s + %s%s", number, before, after, hiddenDifference(before, after))
}

// hiddenDifference tells two lines apart that look the same where they are shown, in which
// blanks are folded.
func hiddenDifference(before, after line) string {
	a, b := before.String(), after.String()
	switch {
	case a == b:
		return fmt.Sprintf(" (they differ beyond the first %d bytes)", maxText)
	case slices.Equal(strings.Fields(a), strings.Fields(b)):
		return " (they differ in blanks)"
	}
	return ""
}

// line is a line of any length: its beginning and a hash of all of it.
type line struct {
	text string
	sum  uint64
	size int64
}

// String shows what is no printable text as an escape, such as the \r of another line end.
func (l line) String() string {
	text := strconv.Quote(l.text)
	text = strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`)
	if l.size > maxText {
		text += "…"
	}
	return text
}

// lineReader splits an output into lines.
type lineReader struct {
	from *bufio.Reader
	sum  maphash.Hash
}

func newLineReader(from io.Reader) *lineReader {
	return &lineReader{from: bufio.NewReaderSize(from, 64<<10)}
}

// next returns the next line without its end; found is false behind the last one.
func (r *lineReader) next() (l line, found bool, err error) {
	r.sum.Reset()
	var text []byte
	for {
		part, err := r.from.ReadSlice('\n')
		found = found || len(part) > 0
		isEnd := err == nil
		if isEnd {
			part = part[:len(part)-1]
		}
		_, _ = r.sum.Write(part) // never fails
		l.size += int64(len(part))
		text = append(text, part[:min(len(part), maxText-len(text))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return line{}, false, err
		}
		l.text, l.sum = string(text), r.sum.Sum64()
		return l, found, nil
	}
}
