package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
)

func TestSystemsNameCommandsThatExist(t *testing.T) {
	var names []string
	root := documented(t)
	for _, cmd := range root.Commands() {
		names = append(names, cmd.Name())
	}
	for _, s := range []system{macOS, windows} {
		for _, name := range s.has {
			if !slices.Contains(names, name) {
				t.Errorf("%s has %q, which is no command", s.name, name)
			}
		}
	}
	var built []string
	for _, cmd := range linuxCommands(new(cli.App)) {
		built = append(built, cmd.Name())
	}
	if !slices.Equal(built, linuxOnly) {
		t.Errorf("built for Linux only: %q, but linuxOnly has %q", built, linuxOnly)
	}
}

func TestACommandThatASystemLacksIsAUsageErrorWithANextStep(t *testing.T) {
	for _, s := range []system{macOS, windows} {
		root := &cobra.Command{Use: "syncd", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(&cobra.Command{Use: "fleet", RunE: func(*cobra.Command, []string) error { return nil }})
		s.limit(root)
		for _, args := range [][]string{{"run"}, {"fleet", "--json", "x"}} {
			root.SetArgs(args)
			err := root.Execute()
			if code := exitCode(err, true); code != exitUsage {
				t.Errorf("%s, %s: exit code %d", s.name, args[0], code)
			}
			for _, part := range []string{"does not work on " + s.name, "run it on Linux", "get, call"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s, %s: %v does not say %q", s.name, args[0], err, part)
				}
			}
		}
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetArgs([]string{"fleet", "--help"})
		if err := root.Execute(); err != nil || !strings.Contains(out.String(), "does not work on "+s.name) {
			t.Errorf("%s: the help says %q, %v", s.name, out.String(), err)
		}
	}
}

func TestTheFirstHourListsEveryCommand(t *testing.T) {
	text, err := os.ReadFile("../../docs/first-hour.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string][]string{}
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.Contains(cells[1], "`") {
			continue
		}
		for _, name := range strings.Fields(strings.ReplaceAll(cells[1], "`", "")) {
			listed[name] = []string{strings.TrimSpace(cells[3]), strings.TrimSpace(cells[4])}
		}
	}
	for _, cmd := range documented(t).Commands() {
		name := cmd.Name()
		if name == "help" {
			continue
		}
		var want []string
		for _, s := range []system{macOS, windows} {
			want = append(want, map[bool]string{true: "yes", false: "no"}[slices.Contains(s.has, name)])
		}
		if !slices.Equal(listed[name], want) {
			t.Errorf("docs/first-hour.md says %q about %s, want %q", listed[name], name, want)
		}
	}
}
