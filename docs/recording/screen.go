//go:build linux

package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
)

// screen is a terminal that never scrolls, with the few control sequences that syncd and
// ls use. The zero value is an empty one.
type screen struct {
	rows        [][]rune
	row, column int
	rest        []byte // the beginning of a sequence whose end has not come yet
}

var (
	controlSequence = regexp.MustCompile("^\x1b\\[([0-9;?]*)([A-Za-z])")
	unfinished      = regexp.MustCompile("^\x1b(\\[[0-9;?]*)?$")
)

// write draws the output of a program. An unknown sequence is an error, so that no
// recording shows something else than a terminal does.
func (s *screen) write(output []byte) error {
	output = append(s.rest, output...)
	s.rest = nil
	for len(output) > 0 {
		if output[0] != '\x1b' {
			length := bytes.IndexByte(output, '\x1b')
			if length < 0 {
				length = len(output)
			}
			s.print(string(output[:length]))
			output = output[length:]
			continue
		}
		if unfinished.Match(output) {
			s.rest = bytes.Clone(output)
			return nil
		}
		sequence := controlSequence.FindSubmatch(output)
		if sequence == nil {
			return fmt.Errorf("unknown sequence at %.10q", output)
		}
		if err := s.control(string(sequence[1]), sequence[2][0]); err != nil {
			return err
		}
		output = output[len(sequence[0]):]
	}
	return nil
}

func (s *screen) control(argument string, command byte) error {
	n, _ := strconv.Atoi(argument)
	switch {
	case command == 'A': // cursor up
		s.row = max(0, s.row-max(1, n))
	case command == 'J' && n == 0: // erase to the end of the screen
		s.eraseLine()
		if s.row+1 < len(s.rows) {
			s.rows = s.rows[:s.row+1]
		}
	case command == 'K' && n == 0: // erase to the end of the line
		s.eraseLine()
	case command == 'm': // colours are left out
	default:
		return fmt.Errorf("unknown sequence ESC [ %s %c", argument, command)
	}
	return nil
}

func (s *screen) eraseLine() {
	if s.row < len(s.rows) && s.column < len(s.rows[s.row]) {
		s.rows[s.row] = s.rows[s.row][:s.column]
	}
}

func (s *screen) print(text string) {
	for _, r := range text {
		switch r {
		case '\n':
			s.row++
		case '\r':
			s.column = 0
		default:
			s.put(r)
		}
	}
}

func (s *screen) put(r rune) {
	for len(s.rows) <= s.row {
		s.rows = append(s.rows, nil)
	}
	for len(s.rows[s.row]) <= s.column {
		s.rows[s.row] = append(s.rows[s.row], ' ')
	}
	s.rows[s.row][s.column] = r
	s.column++
}
