package config

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cpuguy83/go-md2man/v2/md2man"
)

const pageHead = `% "SYNCD.YAML" "5" "" "syncd" "syncd"
# NAME
syncd.yaml - the configuration of syncd

# DESCRIPTION
These are all keys of the configuration file. Its path is **--config**, else **$SYNCD_CONFIG**, else /etc/syncd/syncd.yaml. The file is YAML. [] is each entry of a list. SERVICE is contribution, list, property, autocomplete or reversegeo. **syncd config check** names each mistake with its line.
`

// page is the man page syncd.yaml(5), from the same tables as docs/configuration.md.
func page(explained sample) []byte {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, s := range sections(explained) {
		fmt.Fprintf(&b, "\n# %s\n", strings.ToUpper(s.name))
		if s.intro != "" {
			fmt.Fprintf(&b, "%s\n", cell(s.intro))
		}
		for _, k := range s.keys {
			fmt.Fprintf(&b, "\n**%s**\n: %s\n", k.path, k.sentences(explained))
		}
	}
	return md2man.Render([]byte(b.String()))
}

func (k key) sentences(explained sample) string {
	text := cell(explained.meaning(k.path))
	if k.accepts != "" {
		text += " Accepts " + strings.TrimSuffix(cell(k.accepts), ".") + "."
	}
	switch {
	case k.required:
		text += " Required."
	case explained.value[k.path] != "":
		text += " By default " + code(explained.value[k.path]) + "."
	}
	return text
}

// TestConfigurationPageRenders writes the page and shows it with man. The packages get it
// from here: SYNCD_MAN_DIR names the folder to write.
func TestConfigurationPageRenders(t *testing.T) {
	dir := os.Getenv("SYNCD_MAN_DIR")
	if dir == "" {
		dir = t.TempDir()
	}
	path := filepath.Join(dir, "syncd.yaml.5")
	must(t, os.WriteFile(path, page(shippedSample(t)), 0o644))
	man, err := exec.LookPath("man")
	if err != nil {
		if os.Getenv("SYNCD_MAN_DIR") != "" {
			return // only the page is asked for
		}
		t.Skip("NOT TESTED: no man: install man-db")
	}
	cmd := exec.CommandContext(context.Background(), man, "--warnings", "-l", path)
	cmd.Env = append(os.Environ(), "MANWIDTH=80", "LC_ALL=C.UTF-8", "MANPAGER=cat")
	var shown, warnings bytes.Buffer
	cmd.Stdout, cmd.Stderr = &shown, &warnings
	if err := cmd.Run(); err != nil || warnings.Len() > 0 {
		t.Errorf("%v: %s", err, warnings.String())
	}
	for _, want := range []string{"SYNCD.YAML(5)", "source.customer_id_file", "By default /var/lib/syncd."} {
		if !strings.Contains(strings.Join(strings.Fields(shown.String()), " "), want) {
			t.Errorf("the page does not show %q", want)
		}
	}
}
