//go:build linux

package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"syncd/cmd/syncd/cli"
)

// questions asks on a terminal, or reads lines.
type questions struct {
	lines    *bufio.Reader
	terminal *term.Terminal // nil without a terminal
	restore  func()
	answers  chan answer
}

// answer is a line, or io.EOF at the end of the input.
type answer struct {
	text string
	err  error
}

// newQuestions prepares the input. On a terminal, the echo of the kernel is off until
// close, so that a Customer ID that is typed or pasted early is not shown either.
func newQuestions(in io.Reader) *questions {
	q := &questions{lines: bufio.NewReader(in), restore: func() {}, answers: make(chan answer, 1)}
	file, isFile := in.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return q
	}
	// The terminal is opened again, because stdin may be open for reading only.
	tty, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return q
	}
	fd := int(tty.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		tty.Close()
		return q
	}
	typed := *before
	typed.Lflag &^= unix.ICANON | unix.ECHO // Ctrl-C still is a signal
	typed.Cc[unix.VMIN], typed.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &typed); err != nil {
		tty.Close()
		return q
	}
	q.terminal = term.NewTerminal(tty, "")
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		_ = q.terminal.SetSize(width, height) // it only wraps lines
	}
	q.restore = func() {
		_ = unix.IoctlSetTermios(fd, unix.TCSETS, before) // the process ends, or only prints
		tty.Close()
	}
	return q
}

// close gives the terminal back as it was. It may be called again.
func (q *questions) close() {
	q.restore()
	q.restore = func() {}
}

func (q *questions) isTerminal() bool { return q.terminal != nil }

// ask returns an answer without surrounding white space. Its error is io.EOF at the end of
// the input, or the cause of ctx.
func (q *questions) ask(ctx context.Context, question string, isSecret bool) (string, error) {
	go func() { // it ends with the process, if nobody answers
		text, err := q.read(question, isSecret)
		q.answers <- answer{strings.TrimSpace(text), err}
	}()
	select {
	case <-ctx.Done():
		if q.isTerminal() {
			fmt.Fprintln(q.terminal)
		}
		return "", context.Cause(ctx)
	case a := <-q.answers:
		return a.text, a.err
	}
}

// maxLine is more than an answer may have, in bytes.
const maxLine = 64 << 10

func (q *questions) read(question string, isSecret bool) (text string, err error) {
	switch {
	case q.terminal == nil:
		text, err = readLine(q.lines)
	case isSecret:
		text, err = q.terminal.ReadPassword(question)
	default:
		q.terminal.SetPrompt(question)
		text, err = q.terminal.ReadLine()
	}
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	return text, err
}

// readLine returns a line. The last one may lack its end.
func readLine(lines *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		c, err := lines.ReadByte()
		switch {
		case err == io.EOF && b.Len() > 0:
			return b.String(), nil
		case err != nil:
			return "", err
		case c == '\n':
			return b.String(), nil
		case b.Len() == maxLine:
			return "", cli.Usagef("an answer is longer than %d bytes: give one answer a line", maxLine)
		}
		b.WriteByte(c)
	}
}
