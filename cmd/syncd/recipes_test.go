package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/clients/certificate/certificatetest"
	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

const recipesFile = "../../docs/recipes.md"

// recipe is a question of docs/recipes.md and the blocks of its answer.
type recipe struct {
	question string
	blocks   []block
}

func recipes(t *testing.T) (all []recipe) {
	t.Helper()
	text, err := os.ReadFile(recipesFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range strings.Split(string(text), "\n### ")[1:] {
		section, _, _ = strings.Cut(section, "\n## ")
		question, answer, _ := strings.Cut(section, "\n")
		all = append(all, recipe{question, blocksOf(answer)})
	}
	if len(all) < 30 {
		t.Fatalf("%d recipes found in %s", len(all), recipesFile)
	}
	return all
}

// kitchen is a host that serves release 2026.11 and keeps 2026.10. Its provider has just
// published 2026.12. Paths and addresses of the recipes are its own.
type kitchen struct {
	*e2e.Host
	output  string    // of the last commands
	moment  time.Time // at which 2026.11 was served
	address string    // of the daemon's web server
	server  string    // that takes JSON
}

func newKitchen(t *testing.T, provider *emulator.Emulator) *kitchen {
	t.Helper()
	k := &kitchen{Host: e2e.NewHostOf(t, provider), address: "127.0.0.1:0", server: "http://127.0.0.1:1"}
	for _, dir := range []string{"etc", "bin", "srv", "usb", "work", "units"} {
		k.Must(os.Mkdir(k.Path(dir), 0o755))
	}
	k.Must(os.Symlink(k.Binary, k.Path("bin/syncd")))
	k.Must(os.Remove(k.Path("syncd.yaml")))
	k.Must(os.Symlink("etc/syncd.yaml", k.Path("syncd.yaml")))
	k.complete("")
	return k
}

// own replaces the paths and addresses of a recipe by those of this host.
func (k *kitchen) own(text string) string {
	k.Helper()
	shipped, err := filepath.Abs("../../deploy/systemd")
	k.Must(err)
	return strings.NewReplacer(
		"https://releases.example.net", k.Provider.URL(), "127.0.0.1:9797", k.address, "http://127.0.0.1:9200", k.server,
		"/etc/syncd", k.Path("etc"), "/var/lib/syncd", k.Data, "/srv", k.Path("srv"), "/media/usb", k.Path("usb"),
		"/usr/local/bin", k.Path("bin"), "/etc/systemd/system", k.Path("units"), "/usr/lib/systemd/system", shipped,
		"group: refdata", `group: "0"`, "2026-10-03T12:00:00Z", k.moment.Format(time.RFC3339Nano),
	).Replace(text)
}

// complete writes the configuration file: the given parts, and the rest of a small one.
func (k *kitchen) complete(parts string) {
	k.Helper()
	for _, rest := range []string{
		"source:\n  url: https://releases.example.net\n", "data_dir: /var/lib/syncd\n", "jitter: 0s\n", "http: {listen: 127.0.0.1:9797}\n",
		"manifests:\n  - name: dq_addr_data\n  - name: dq_addr_bins\n",
	} {
		if key, _, _ := strings.Cut(rest, ":"); !regexp.MustCompile(`(?m)^` + key + `:`).MatchString(parts) {
			parts += rest
		}
	}
	k.Environ = nil
	if !strings.Contains(parts, "customer_id") {
		k.Environ = []string{"SYNCD_CUSTOMER_ID=" + e2e.CustomerID}
	}
	k.Write("syncd.yaml", k.own(parts), 0o600)
}

// firstKitchen makes the state that recipes begin with. The others copy it.
func firstKitchen(t *testing.T) *kitchen {
	t.Helper()
	provider, err := emulator.Start(emulator.Config{CustomerID: e2e.CustomerID})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { provider.Close() })
	provider.AddSample()
	k := newKitchen(t, provider)
	k.Sync(0)
	provider.AdvanceSample()
	k.Sync(0)
	provider.AdvanceSample()
	k.moment = time.Now().UTC()
	return k
}

func (k *kitchen) copy(t *testing.T) *kitchen {
	t.Helper()
	another := newKitchen(t, k.Provider)
	another.moment = k.moment
	if out, err := exec.Command("cp", "-a", k.Data, another.Data).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return another
}

// cook runs the commands of a block with bash, as an operator would paste them.
func (k *kitchen) cook(commands string) {
	k.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), e2e.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", k.own(commands))
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &output, &output, k.Path("work")
	cmd.Env = append(k.Command().Env, "PATH="+k.Path("bin")+":"+os.Getenv("PATH"), "SYNCD_CONFIG="+k.Path("etc/syncd.yaml"), "HOME="+k.Path("work"), "TZ=UTC")
	err := cmd.Run()
	k.output = output.String()
	k.SecretFree("the output", k.output)
	if err != nil {
		k.Fatalf("%v\n%s\n%s", err, commands, k.output)
	}
}

// sees requires that the last commands printed these lines, in this order and perhaps
// between others. In a line, … is any text.
func (k *kitchen) sees(lines string) {
	k.Helper()
	rest := spaced(k.output)
	for line := range strings.Lines(spaced(k.own(lines))) {
		want := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSuffix(line, "\n")), "…", ".*")
		found := regexp.MustCompile(`(?m)^` + want + `$`).FindStringIndex(rest)
		if found == nil {
			k.Errorf("the commands do not print %q, but\n%s", line, k.output)
			return
		}
		rest = rest[found[1]:]
	}
}

// spaced makes columns independent of the width of others.
func spaced(text string) string {
	return strings.TrimSpace(regexp.MustCompile(`(?m) +$`).ReplaceAllString(regexp.MustCompile(` +`).ReplaceAllString(text, " "), ""))
}

// addFiles makes those that configurations of the recipes name.
func (k *kitchen) addFiles() {
	k.Helper()
	certificate, key, _ := certificatetest.Pair(k.T, k.Dir, "upstream")
	for name, target := range map[string]string{"ca.pem": certificate, "web.crt": certificate, "web.key": key} {
		k.Must(os.Symlink(target, k.Path("etc/"+name)))
	}
	k.Write("etc/serve.yml", "tls_server_config: {cert_file: "+certificate+", key_file: "+key+"}\n", 0o644)
	k.Write("etc/hook_secret", "whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 32)), 0o600)
	k.complete("serve: {listen: 127.0.0.1:0, public_url: https://mirror.example.net, ids_file: /etc/syncd/downstream_ids}\n")
	k.Expect(0, "serve-id", "add", "db01")
}

func TestTheCommandsOfTheRecipesRunAndPrintWhatTheySay(t *testing.T) {
	t.Parallel()
	first := firstKitchen(t)
	for _, r := range recipes(t) {
		if !slices.ContainsFunc(r.blocks, func(b block) bool { return b.run }) {
			continue
		}
		t.Run(r.question, func(t *testing.T) {
			t.Parallel()
			k := first.copy(t)
			k.prepare(r.question)
			k.follow(r)
		})
	}
}

// follow does what a recipe says, from its first block to its last.
func (k *kitchen) follow(r recipe) {
	k.Helper()
	parts := ""
	for _, b := range r.blocks {
		switch {
		case b.kind == "yaml":
			parts += b.text
			k.complete(parts)
		case b.run:
			k.cook(b.text)
		case b.kind == "text":
			k.sees(b.text)
		case b.kind != "sh":
			k.Errorf("a block is none of yaml, sh and text: %q", b.kind)
		}
	}
}

// prepare makes what a recipe finds on its host.
func (k *kitchen) prepare(question string) {
	k.Helper()
	switch {
	case strings.Contains(question, "PostgreSQL"):
		k.Write("bin/psql", "#!/bin/sh\nexec grep -q \"FROM '$SYNCD_PATH/Congress.csv'\"\n", 0o755)
	case strings.Contains(question, "Elasticsearch"):
		k.takeJSON()
		k.Write("bin/refdata-to-bulk", "#!/bin/sh\n[ -d $1 ] && printf '%s\\n' '{\"index\": {}}' '{\"code\": \"CA12\"}'\n", 0o755)
	case strings.Contains(question, "chat"):
		k.takeJSON()
		k.Write("etc/chat.curl", "url = \""+k.server+"\"\n", 0o600)
	case strings.Contains(question, "still read"):
		k.keepOpen("2026.10")
	case strings.Contains(question, "by disk"):
		k.Expect(0, "get", "Data/2026.12/mdAddrKey.db", "-o", k.Path("usb"))
	case strings.Contains(question, "without Prometheus"):
		k.address = strings.TrimPrefix(k.Daemon().Web, "http://")
	}
}

// takeJSON starts a server that refuses what is not JSON, or lines of it.
func (k *kitchen) takeJSON() {
	k.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		decoder := json.NewDecoder(r.Body)
		for {
			var value map[string]any
			switch err := decoder.Decode(&value); {
			case err == io.EOF:
				fmt.Fprint(w, `{"errors":false}`)
				return
			case err != nil:
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
	}))
	k.Cleanup(server.Close)
	k.server = server.URL
}

// keepOpen starts a program that has a file of a release open.
func (k *kitchen) keepOpen(release string) {
	k.Helper()
	names, err := filepath.Glob(filepath.Join(k.Data, "revisions/dq_addr_data", release+"-*", "ews.txt"))
	k.Must(err)
	file, err := os.Open(names[0])
	k.Must(err)
	defer file.Close()
	reader := exec.Command("sleep", "600")
	reader.Stdin = file
	k.Must(reader.Start())
	k.Cleanup(func() {
		_ = reader.Process.Kill()
		_ = reader.Wait()
	})
}
