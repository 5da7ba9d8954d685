package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"syncd/cmd/syncd/cli"
	"syncd/internal/emulator"
	"syncd/internal/report"
)

// withoutJSON are the commands that print no facts, or print them in a form of their own.
var withoutJSON = map[string]string{
	"syncd":                     "is its help",
	"syncd bundle":              "is the help of those below",
	"syncd bundle receipt":      "writes a receipt, a text of its own",
	"syncd call":                "prints the service's answer, which is JSON",
	"syncd completion":          "is the help of those below",
	"syncd config":              "is the help of those below",
	"syncd config from-updater": "prints a configuration file",
	"syncd demo":                "tells a story",
	"syncd emulator":            "is a server",
	"syncd healthcheck":         "answers by its exit status",
	"syncd help":                "is help",
	"syncd lock":                "prints a lock file, which is JSON",
	"syncd map":                 "prints a map file",
	"syncd run":                 "is the daemon, and logs JSON",
	"syncd serve-id":            "is the help of those below",
	"syncd serve-id add":        "prints an id alone, for a shell variable",
	"syncd serve-id remove":     "prints nothing",
	"syncd setup":               "is a dialogue",
	"syncd trust":               "is the help of those below",
	"syncd trust add":           "changes a trust file, which show prints",
	"syncd trust init":          "prints a fingerprint alone",
	"syncd trust keygen":        "prints a public key alone",
	"syncd trust remove":        "changes a trust file, which show prints",
	"syncd trust sign":          "prints nothing",
}

// TestEveryCommandIsWhole requires of each command a group in the help, completions for its
// arguments and for each flag that takes a value, and --json, unless withoutJSON says why not.
func TestEveryCommandIsWhole(t *testing.T) {
	for _, cmd := range everyCommand(documented(t)) {
		hasJSON, why := cmd.Flags().Lookup("json") != nil, withoutJSON[cmd.CommandPath()]
		if isScript := strings.HasPrefix(cmd.CommandPath(), "syncd completion "); hasJSON == (why != "" || isScript) {
			t.Errorf("%s: has --json %t, and the reason against it is %q", cmd.CommandPath(), hasJSON, why)
		}
		if cmd.Parent() != nil && !cmd.Parent().HasParent() && cmd.GroupID == "" {
			t.Errorf("%s has no group in the help: add it to cli.Groups and to docs/operating.md", cmd.CommandPath())
		}
		if cmd.Runnable() && cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
			t.Errorf("the arguments of %s do not complete: see package complete", cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if _, has := cmd.GetFlagCompletionFunc(f.Name); !has && f.Value.Type() != "bool" {
				t.Errorf("%s --%s does not complete: see package complete", cmd.CommandPath(), f.Name)
			}
		})
	}
}

// The groups of the help are the parts of the table in docs/operating.md.
func TestTheGroupsOfTheHelpAreThoseOfTheDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range cli.Groups() {
		_, part, found := strings.Cut(string(text), "| **"+group.Title+"** | |\n")
		if !found {
			t.Errorf("docs/operating.md has no part %q", group.Title)
			continue
		}
		part, _, _ = strings.Cut(part, "| **")
		for _, name := range group.Commands {
			if name != "help" && name != "setup" && !strings.Contains(part, "`"+name) {
				t.Errorf("part %q of docs/operating.md has no %q", group.Title, name)
			}
		}
	}
	if n := len(cli.Groups()[0].Commands); n != 10 {
		t.Errorf("%d commands of every day", n)
	}
}

// host is a configuration with data, for commands in this process.
type host struct {
	*testing.T
	config string
}

func (h host) syncd(args ...string) (stdout string) {
	h.Helper()
	var out, errors bytes.Buffer
	environ := func(name string) string { return map[string]string{"SYNCD_CONFIG": h.config}[name] }
	if code := run(h.Context(), args, environ, &out, &errors); code != 0 {
		h.Fatalf("syncd %s: exit %d: %s", strings.Join(args, " "), code, errors.String())
	}
	return out.String()
}

// complete returns what the shell offers after args.
func (h host) complete(args ...string) (offered []string) {
	h.Helper()
	for line := range strings.Lines(h.syncd(append([]string{cobra.ShellCompRequestCmd}, args...)...)) {
		value, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		offered = append(offered, value)
	}
	return offered[:len(offered)-1] // the last line is the directive
}

// newHost serves a manifest whose next release is staged, since its group is not complete,
// and one that left the configuration.
func newHost(t *testing.T) host {
	t.Helper()
	provider, err := emulator.Start(emulator.Config{CustomerID: "customer-id"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { provider.Close() })
	dir := t.TempDir()
	h := host{t, filepath.Join(dir, "syncd.yaml")}
	write := func(manifests string) {
		text := "source: {url: \"" + provider.URL() + "\", customer_id: customer-id}\ndata_dir: " + filepath.Join(dir, "data") + "\nhttp: {listen: \"\"}\n" +
			"hooks: [{name: pager, on: [failed], webhook: \"http://127.0.0.1:9/\"}]\n" + manifests
		if err := os.WriteFile(h.config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := func(text string) emulator.File { return emulator.File{Name: "a.dat", Content: emulator.Text(text)} }
	provider.SetManifest("one", "2026.09", file("september"))
	provider.SetManifest("left", "2026.09", file("left"))
	write("manifests: [{name: one}, {name: left}]\n")
	h.syncd("sync", "--quiet")
	provider.SetManifest("one", "2026.10", file("october"))
	write("manifests: [{name: one}, {name: two}]\nviews: [{name: flat, manifests: [one], layout: flat, export: " + filepath.Join(dir, "export") + "}]\n" +
		"groups: [{name: both, manifests: [one, two]}]\nserve: {listen: \"127.0.0.1:0\", public_url: \"http://127.0.0.1:9\", rings: [{name: canary, delay: 0s}]}\n")
	h.syncd("sync", "--quiet", "one")
	h.syncd("pin", "one", "2026.10")
	return h
}

func TestNamesComplete(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	releases := []string{"2026.10", "2026.09"}
	for _, row := range []struct {
		args string // the last one is typed
		want []string
	}{
		{"sync ", []string{"one", "two"}},
		{"sync one ", []string{"two"}},
		{"sync o", []string{"one"}},
		{"verify ", []string{"left", "one", "two"}},
		{"explain ", []string{"left", "one", "two"}},
		{"explain one ", nil},
		{"hold ", []string{"one", "two"}},
		{"pin ", []string{"one", "two"}},
		{"pin one ", releases},
		{"pin two ", nil},
		{"skip one 2026.0", []string{"2026.09"}},
		{"unpin ", []string{"one"}},
		{"activate ", []string{"one", "both"}},
		{"forget ", []string{"left"}},
		{"rollback ", []string{"3", "2", "1"}},
		{"rollback --manifest ", []string{"one", "two"}},
		{"files one ", releases},
		{"manifests ", releases},
		{"releases ", []string{"left", "one", "two"}},
		{"map o", []string{"one"}},
		{"get Data/2026.09/", []string{"Data/2026.09/a.dat"}},
		{"served one/", []string{"one/a.dat"}},
		{"sync --take-over ", []string{"flat"}},
		{"deliveries --hook ", []string{"pager"}},
		{"deliveries --retry ", nil},
		{"fleet --ring ", []string{"canary"}},
		{"fleet release ", releases},
		{"status ", nil},
		{"version ", nil},
	} {
		if got := h.complete(strings.Split(row.args, " ")...); !slices.Equal(got, row.want) {
			t.Errorf("syncd %s offers %q, want %q", row.args, got, row.want)
		}
	}
	if got := h.complete("fleet", "--state", ""); len(got) < 4 {
		t.Errorf("states of followers: %q", got)
	}
}

// TestFactsAsJSON reads what the commands print whose documents are described in
// docs/operating.md alone.
func TestFactsAsJSON(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, row := range []struct{ args, want string }{
		{"explain --json one", `{"explanations":[{"kind":"manifest","name":"one","state":"staged","explanation":"2026.10 is staged`},
		{"explain --json", `{"kind":"view","name":"flat","state":"in_sync","explanation":"`},
		{"manifests --json 2026.09", `{"manifests":[{"description":"The files of left.","name":"left"},{"description":"The files of one.","name":"one"}],"release":"2026.09"}`},
		{"files --json one", `{"files":[{"reference":"Data/2026.10/a.dat","class":"Data","release":"2026.10","name":"a.dat"}],"manifest":"one"}`},
		{"releases --json one", `{"manifest":"one","releases":["2026.09","2026.10"]}`},
		{"version --json", `"version":"`},
		{"config check --json", `"ok":true,"manifests":["one","two"],"warnings":[`},
		{"hold --json one --for 1h", `{"generation":5,"changed":true,"manifests":[`},
		{"unpin --json one", `{"generation":6,"changed":true,"manifests":[`},
		{"skip --json one 2026.11", `{"generation":7,"changed":true,"manifests":[`},
		{"pin --json one 2026.09", `{"generation":8,"changed":true,"manifests":[`},
		{"history --json --limit 2", `{"history":[{"time":"`},
	} {
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(h.syncd(strings.Split(row.args, " ")...))); err != nil || !strings.Contains(compact.String(), row.want) {
			t.Errorf("syncd %s: %s, %v", row.args, compact.String(), err)
		}
	}
	count := func(args ...string) int {
		var shown report.History
		if err := json.Unmarshal([]byte(h.syncd(append([]string{"history", "--json"}, args...)...)), &shown); err != nil {
			t.Fatal(err)
		}
		return len(shown.Entries)
	}
	all := count()
	if all < 4 || count("--limit", "2") != 2 || count("--since", "1h") != all || count("--since", time.Now().Add(time.Hour).Format(time.RFC3339)) != 0 {
		t.Errorf("%d entries; with limits %d and %d", all, count("--limit", "2"), count("--since", "1h"))
	}
}

// Someone types in a shell without a configuration, or with one that has a mistake.
func TestCompletionWithoutAConfigurationIsSilent(t *testing.T) {
	t.Parallel()
	h := host{t, filepath.Join(t.TempDir(), "none.yaml")}
	for _, args := range []string{"sync ", "pin one ", "rollback ", "served "} {
		if got := h.complete(strings.Split(args, " ")...); len(got) != 0 {
			t.Errorf("syncd %s offers %q", args, got)
		}
	}
}
