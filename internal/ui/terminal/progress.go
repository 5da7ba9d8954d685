package terminal

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"syncd/internal/report"
)

// Progress shows the progress of a sync. One goroutine uses it, and calls Close at
// the end.
type Progress interface {
	Show(report.Progress)
	Close()
}

// NewProgress draws bars when out is a terminal, and writes a line every few
// seconds when it is not. redact removes secrets from the names of files.
func NewProgress(out io.Writer, redact func([]byte) []byte) Progress {
	if Is(out) {
		return newBars(out.(*os.File), redact)
	}
	return &lines{w: out, next: time.Now().Add(lineInterval), retries: Retries{W: out}}
}

// Silent shows nothing.
type Silent struct{}

// Show does nothing.
func (Silent) Show(report.Progress) {}

// Close does nothing.
func (Silent) Close() {}

// WidthOf is how many characters fit into a line of a terminal, 0 for no limit.
func WidthOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// Is is true when w is a terminal.
func Is(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
