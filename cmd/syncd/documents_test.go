package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// block is a fenced block: yaml is a part of a configuration, sh are commands, and text
// is what the commands before it print.
type block struct {
	kind, text string
	run        bool
}

// blocksOf returns the fenced blocks of a Markdown text.
func blocksOf(text string) (blocks []block) {
	parts := strings.Split("\n"+text, "\n```")
	for i := 1; i < len(parts); i += 2 {
		kind, text, _ := strings.Cut(parts[i], "\n")
		blocks = append(blocks, block{kind, text + "\n", strings.HasSuffix(parts[i-1], "<!-- run -->")})
	}
	return blocks
}

// documents are the blocks of all documents that people write, by the name of the file.
func documents(t *testing.T) map[string][]block {
	t.Helper()
	all := map[string][]block{}
	for _, pattern := range []string{"../../*.md", "../../docs/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all[filepath.Base(name)] = blocksOf(string(text))
		}
	}
	delete(all, "commands.md") // generated
	if len(all["recipes.md"]) < 30 || len(all["README.md"]) < 3 {
		t.Fatalf("few documents or blocks found: %d documents", len(all))
	}
	return all
}

func TestEveryConfigurationOfTheDocumentsIsValid(t *testing.T) {
	t.Parallel()
	provider, err := emulator.Start(emulator.Config{CustomerID: e2e.CustomerID})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { provider.Close() })
	k := newKitchen(t, provider)
	k.addFiles()
	for name, blocks := range documents(t) {
		for _, b := range blocks {
			switch {
			case b.kind != "yaml", strings.HasPrefix(b.text, "rule_files:"), strings.HasPrefix(b.text, "global:"), // of Prometheus
				strings.HasPrefix(b.text, "# values.yaml\n"), strings.HasPrefix(b.text, "# kustomization.yaml\n"): // see deploy/helm
				continue
			case strings.HasPrefix(b.text, "tls_server_config:"):
				k.Write("etc/web.yml", b.text, 0o644)
				continue
			}
			k.complete(b.text)
			if result := k.Syncd("config", "check"); result.Code != 0 || strings.Contains(result.Stderr, "warning") {
				t.Errorf("%s: exit %d\n%s%s", name, result.Code, result.Stderr, b.text)
			}
		}
	}
}

func TestEveryCommandOfTheDocumentsIsOneOfSyncd(t *testing.T) {
	t.Parallel()
	found := 0
	for name, blocks := range documents(t) {
		for _, b := range blocks {
			if b.kind == "sh" || b.kind == "" && strings.Contains("\n"+b.text, "\nsyncd ") {
				found += checkCommands(t, name, b.text)
			}
		}
	}
	if found < 80 {
		t.Errorf("only %d commands found", found)
	}
}

// wrappers run the command that follows them.
var wrappers = []string{"syncd", "sudo", "env", "docker", "kubectl", "timeout", "while", "until"}

// checkCommands parses a script, and requires that each syncd in it has a known command,
// known flags and a fitting number of arguments.
func checkCommands(t *testing.T, where, script string) (found int) {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return 0
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok {
			return true
		}
		words := make([]string, len(call.Args))
		for i, word := range call.Args {
			if words[i] = word.Lit(); words[i] == "" {
				words[i] = "value"
			}
		}
		if at := slices.Index(words, "syncd"); at >= 0 && slices.Contains(wrappers, words[0]) {
			found++
			checkCommand(t, where, words[at+1:])
		}
		return true
	})
	return found
}

func checkCommand(t *testing.T, where string, args []string) {
	t.Helper()
	cmd, rest, err := documented(t).Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil || !cmd.Runnable() {
		t.Errorf("%s: syncd %s: %v", where, strings.Join(args, " "), err)
	}
}
