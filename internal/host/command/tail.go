package command

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"
)

// Tail keeps the last lines of an output, in little memory however long that is. The zero
// value is ready. Safe for concurrent use, so it can take both outputs of a command.
type Tail struct {
	mu   sync.Mutex
	last []byte // at most 2*tailBytes
}

// Limits of what a Tail gives back.
const (
	tailBytes = 4 << 10
	tailLines = 20
)

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p[max(len(p)-tailBytes, 0):]...)
	if len(t.last) > 2*tailBytes {
		t.last = append(t.last[:0], t.last[len(t.last)-tailBytes:]...)
	}
	return len(p), nil
}

// Lines returns the last lines that are not empty.
func (t *Tail) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := t.last[max(len(t.last)-tailBytes, 0):]
	for len(text) > 0 && !utf8.RuneStart(text[0]) { // a character was cut in two
		text = text[1:]
	}
	var lines []string
	for line := range bytes.Lines(text) {
		if line := strings.TrimSpace(strings.ToValidUTF8(string(line), "?")); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(len(lines)-tailLines, 0):]
}
