package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"syncd/cmd/syncd/cli"
)

const commandsFile = "../../docs/commands.md"

const commandsHead = `# Command reference

<!-- Generated: SYNCD_UPDATE_DOCS=1 go test ./cmd/syncd -run TestCommandReference -->

This is the help of each command. The packages have the same as man pages, such as ` + "`man syncd-sync`" + `. Each command also has ` + "`--help`" + `. [operating.md](operating.md#commands) says when to use which command.
`

// documented returns the commands as a machine without a configuration shows them.
func documented(t *testing.T) *cobra.Command {
	t.Helper()
	a := cli.New(cli.Options{Getenv: func(string) string { return "" }, Stdout: io.Discard, Stderr: io.Discard})
	root := newRoot(a)
	a.ConfigPath = filepath.Join(t.TempDir(), "none")
	root.InitDefaultHelpCmd()
	root.InitDefaultVersionFlag()
	for _, cmd := range everyCommand(root) {
		cmd.DisableAutoGenTag = true
		cmd.InitDefaultHelpFlag()
		if cmd.Long == "" {
			cmd.Long = cmd.Short
		}
	}
	return root
}

// everyCommand returns a command and all below it. The operations of services are left
// out: docs/call.md lists them, and their help depends on the configuration.
func everyCommand(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && cmd.CommandPath() != "syncd call" {
			all = append(all, everyCommand(sub)...)
		}
	}
	return all
}

// TestCommandReferenceIsCurrent compares docs/commands.md with the commands. With
// SYNCD_UPDATE_DOCS=1 it writes the document.
func TestCommandReferenceIsCurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString(commandsHead)
	for _, cmd := range everyCommand(documented(t)) {
		describe(&b, cmd)
	}
	if os.Getenv("SYNCD_UPDATE_DOCS") != "" {
		if err := os.WriteFile(commandsFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	current, err := os.ReadFile(commandsFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(current) != b.String() {
		t.Error("docs/commands.md is not current: see its first comment")
	}
}

// describe writes one command.
func describe(b *strings.Builder, cmd *cobra.Command) {
	cmd.Flags().Lookup("help").Hidden = true
	fmt.Fprintf(b, "\n## %s\n\n```text\n%s\n\nUsage: %s\n", cmd.CommandPath(), strings.TrimSpace(cmd.Long), cmd.UseLine())
	if flags := cmd.NonInheritedFlags().FlagUsages(); flags != "" {
		fmt.Fprintf(b, "\n%s", flags)
	}
	b.WriteString("```\n")
}

// markdown keeps the lines of a plain text that are indented, and its brackets.
func markdown(text string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if indented := strings.HasPrefix(line, " "); indented != inside {
			b.WriteString("\n")
			inside = indented
		}
		if inside {
			b.WriteString("  " + line) // four spaces are a block of code
		} else {
			b.WriteString(strings.ReplaceAll(line, "<", `\<`))
		}
	}
	return b.String()
}

// TestManPagesRender writes the man pages and shows each one with man. The packages get
// them from here: SYNCD_MAN_DIR names the folder to write.
func TestManPagesRender(t *testing.T) {
	dir := os.Getenv("SYNCD_MAN_DIR")
	if dir == "" {
		dir = t.TempDir()
	}
	root := documented(t)
	if services, _, err := root.Find([]string{"call"}); err != nil {
		t.Fatal(err)
	} else {
		services.RemoveCommand(services.Commands()...)
	}
	for _, cmd := range everyCommand(root) {
		cmd.Long = markdown(cmd.Long)
	}
	header := &doc.GenManHeader{Section: "1", Source: "syncd", Manual: "syncd"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) != len(everyCommand(root)) {
		t.Fatalf("%d pages of %d commands, %v", len(pages), len(everyCommand(root)), err)
	}
	man, err := exec.LookPath("man")
	if err != nil {
		if os.Getenv("SYNCD_MAN_DIR") != "" {
			return // only the pages are asked for
		}
		t.Skip("NOT TESTED: no man: install man-db")
	}
	cmd := exec.CommandContext(context.Background(), man, append([]string{"--warnings", "-l"}, pages...)...)
	cmd.Env = append(os.Environ(), "MANWIDTH=80", "LC_ALL=C.UTF-8", "MANPAGER=cat")
	var shown, warnings bytes.Buffer
	cmd.Stdout, cmd.Stderr = &shown, &warnings
	if err := cmd.Run(); err != nil || warnings.Len() > 0 {
		t.Errorf("%v: %s", err, warnings.String())
	}
	for _, want := range []string{"SYNCD-SYNC(1)", "--take-over", "Exit codes:"} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("the pages do not show %q", want)
		}
	}
}
