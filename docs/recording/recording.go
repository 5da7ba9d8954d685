//go:build linux

package main

import (
	"strings"
	"time"
)

const (
	perLetter  = 30 * time.Millisecond
	longestGap = 400 * time.Millisecond // a program that waits longer is not shown waiting
	frameGap   = 250 * time.Millisecond // between two frames of a progress bar
)

// line is what a row shows from one moment to another.
type line struct {
	row      int
	text     string
	command  bool // it is typed, letter by letter
	from, to time.Duration
	replaced bool // by another line, at to
}

// recording is a session: a screen, and what its rows have shown when.
type recording struct {
	screen screen
	now    time.Duration
	framed time.Duration // the last frame
	lines  []line
	shown  map[int]int // the line that a row shows, by row
}

func (r *recording) pause(d time.Duration) { r.now += d }

// typeCommand types a command at the prompt.
func (r *recording) typeCommand(command string) {
	r.lines = append(r.lines, line{row: r.screen.row, text: command, command: true, from: r.now})
	r.screen.print("$ " + command + "\r\n")
	if r.shown == nil {
		r.shown = map[int]int{}
	}
	r.shown[r.screen.row-1] = len(r.lines) - 1
	r.pause(perLetter*time.Duration(len(command)) + longestGap)
}

// write draws what a program prints. Frames that follow each other fast are left out.
func (r *recording) write(output []byte) error {
	if err := r.screen.write(output); err != nil {
		return err
	}
	if r.now-r.framed >= frameGap && len(r.screen.rest) == 0 {
		r.frame()
	}
	return nil
}

// frame compares the screen with what its rows showed before.
func (r *recording) frame() {
	r.framed = r.now
	for row := range max(len(r.screen.rows), maxKey(r.shown)+1) {
		text := ""
		if row < len(r.screen.rows) {
			text = strings.TrimRight(string(r.screen.rows[row]), " ")
		}
		before, found := r.shown[row]
		switch {
		case found && (r.lines[before].command || r.lines[before].text == text):
			continue
		case found:
			r.lines[before].to, r.lines[before].replaced = r.now, true
			delete(r.shown, row)
		}
		if text != "" {
			r.shown[row] = len(r.lines)
			r.lines = append(r.lines, line{row: row, text: text, from: r.now})
		}
	}
}

func maxKey(m map[int]int) int {
	highest := -1
	for key := range m {
		highest = max(highest, key)
	}
	return highest
}
