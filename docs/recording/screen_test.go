//go:build linux

package main

import (
	"slices"
	"strings"
	"testing"
)

func shown(s screen) (lines []string) {
	for _, row := range s.rows {
		lines = append(lines, strings.TrimRight(string(row), " "))
	}
	return lines
}

func TestAScreenShowsWhatATerminalShows(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		output []string
		want   []string
	}{
		"lines":                {[]string{"a\r\nb\r\n"}, []string{"a", "b"}},
		"a bar drawn anew":     {[]string{"[=>  ]\r\n", "\x1b[1A\x1b[J[===>]\r\n"}, []string{"[===>]"}},
		"fewer bars":           {[]string{"one\r\ntwo\r\ntotal\r\n", "\x1b[3A\x1b[Jtotal\r\n"}, []string{"total"}},
		"no bars any more":     {[]string{"total\r\n", "\x1b[1A\x1b[J", "done\r\n"}, []string{"done"}},
		"a sequence in two":    {[]string{"one\r\n\x1b[", "1A\x1b[Jtwo\r\n"}, []string{"two"}},
		"a line written over":  {[]string{"10 %\r", "100 %"}, []string{"100 %"}},
		"the rest of the line": {[]string{"abc\r\x1b[Kd"}, []string{"d"}},
		"colours":              {[]string{"\x1b[1;32mok\x1b[0m"}, []string{"ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s screen
			for _, output := range test.output {
				if err := s.write([]byte(output)); err != nil {
					t.Fatal(err)
				}
			}
			if got := shown(s); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestAnUnknownSequenceIsAnError(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"\x1b[2J", "\x1b[5C", "\x1b]0;title\a"} {
		var s screen
		if err := s.write([]byte(output)); err == nil {
			t.Errorf("%q was drawn", output)
		}
	}
}
