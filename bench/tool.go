package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tool is one way to fetch a workload into an empty directory and prove it.
type tool struct {
	name    string
	needs   []string // programs
	command func(s *served, dir string) (*exec.Cmd, error)
}

func tools(syncd string) []tool {
	return []tool{
		{name: "syncd", command: func(s *served, dir string) (*exec.Cmd, error) { return syncdCommand(syncd, s, dir) }},
		{name: "wget2 + openssl", needs: []string{"wget2", "openssl"}, command: wgetCommand},
		{name: "aria2", needs: []string{"aria2c"}, command: ariaCommand},
	}
}

func (t tool) installed() bool {
	for _, program := range t.needs {
		if _, err := exec.LookPath(program); err != nil {
			return false
		}
	}
	return true
}

func syncdCommand(binary string, s *served, dir string) (*exec.Cmd, error) {
	path := filepath.Join(dir, "syncd.yaml")
	text := fmt.Sprintf("source: {url: %q, customer_id: %q}\ndata_dir: %q\nmanifests: [{name: %s}]\n",
		s.emulator.URL(), customerID, filepath.Join(dir, "data"), manifestName)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return exec.Command(binary, "--config", path, "sync", "--quiet"), nil
}

// wgetPlace is where wget2 puts files that come by way of a redirect.
var wgetPlace = filepath.Join("Download", "Data", release)

// wgetCommand downloads everything and then hashes it on both cores. The sums
// are compared too: a download that nobody checks proves nothing.
func wgetCommand(s *served, dir string) (*exec.Cmd, error) {
	var urls, sums strings.Builder
	for _, f := range s.files {
		fmt.Fprintln(&urls, f.url)
		fmt.Fprintf(&sums, "%s *%s\n", f.sha256, f.name)
	}
	if err := writeAll(dir, map[string]string{"urls": urls.String(), "sums": sums.String()}); err != nil {
		return nil, err
	}
	perProcess := max(1, min(64, len(s.files)/4))
	script := fmt.Sprintf(`wget2 -q --max-threads=8 --cut-file-get-vars -i urls && cd %s &&
ls | xargs -P2 -n%d sh -c 'openssl dgst -sha256 -r "$@" > "$OLDPWD"/part.$$' openssl &&
cd "$OLDPWD" && cat part.* | sort -k2 > actual && cmp actual sums`, wgetPlace, perProcess)
	return shell(dir, script), nil
}

func ariaCommand(s *served, dir string) (*exec.Cmd, error) {
	var list strings.Builder
	for _, f := range s.files {
		fmt.Fprintf(&list, "%s\n out=%s\n checksum=sha-256=%s\n", f.url, f.name, f.sha256)
	}
	if err := writeAll(dir, map[string]string{"list": list.String()}); err != nil {
		return nil, err
	}
	return shell(dir, "aria2c -q -j8 --file-allocation=none --check-certificate=false -d files -i list"), nil
}

func writeAll(dir string, files map[string]string) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func shell(dir, script string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	return cmd
}
