package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// name is what a file, a process or a follower can be called.
const name = "a\x1b[2J\u202e\u200b\u3164"

func TestOutputsHoldNoHiddenCharacter(t *testing.T) {
	for _, write := range map[string]func(a *App) error{
		"text":      func(a *App) error { _, err := a.Stdout.Write([]byte(name + "\t1\n")); return err },
		"JSON":      func(a *App) error { return a.PrintJSON(name) },
		"a warning": func(a *App) error { a.Warn(name); return nil },
		"the log": func(a *App) error {
			log := a.Logger(zerolog.InfoLevel)
			log.Info().Str("file", name).Msg(name)
			return nil
		},
		"a library": func(a *App) error {
			_, err := NewLibraryLog(a.Secrets, func(line []byte) { _, _ = a.Stderr.Write(line) }).Write([]byte(name))
			return err
		},
		"the progress": func(a *App) error { _, err := a.Stderr.Write([]byte(name)); return err },
	} {
		var stdout, stderr bytes.Buffer
		a := New(Options{Stdout: &stdout, Stderr: &stderr})
		if err := write(a); err != nil {
			t.Error(err)
		}
		out := stdout.String() + stderr.String()
		if strings.ContainsAny(out, name[1:2]+"\u202e\u200b\u3164") || !strings.Contains(out, `\u202e\u200b\u3164`) {
			t.Errorf("%q", out)
		}
	}
}

// The log of a person has colours, which must stay.
func TestTheConsoleShowsNoHiddenCharacterOfOthers(t *testing.T) {
	var out bytes.Buffer
	a := New(Options{})
	a.Secrets.Learn("Secret-77")
	log := zerolog.New(console{zerolog.ConsoleWriter{Out: &out}, a.Secrets.redact})
	log.Warn().Str("file", name).Str("id", "Secret-77").Msg(name + "\nforged")
	got := out.String()
	if strings.ContainsAny(got, "\u202e\u200b\u3164") || strings.Contains(got, "\x1b[2J") || strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
	if !strings.Contains(got, "\x1b[") || !strings.Contains(got, `\u202e\u200b\u3164\nforged`) || strings.Contains(got, "Secret-77") {
		t.Errorf("%q", got)
	}
}
