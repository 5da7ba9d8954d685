package migration

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"syncd/internal/config/migration/commandline"
	"syncd/internal/manifest"
)

// yaml writes the configuration.
func (p *plan) yaml() []byte {
	var b bytes.Buffer
	p.head(&b)
	b.WriteString("source:\n")
	comment(&b, "  ", "The updater has the address of the release service compiled in. Write it here.")
	b.WriteString("  url: https://releases.example.net\n")
	p.licence(&b)
	b.WriteString("\n")
	p.dataDir(&b)
	b.WriteString("\nmanifests:\n")
	for _, e := range p.entries {
		e.yaml(&b)
	}
	if len(p.views) > 0 {
		b.WriteString("\nviews:\n")
	}
	for _, v := range p.views {
		v.yaml(&b, len(p.entries))
	}
	return b.Bytes()
}

func (p *plan) head(b *bytes.Buffer) {
	comment(b, "", "Made by `syncd config from-updater`. Check every comment, then run `syncd config check`.")
	comment(b, "", "docs/moving-in.md has the next steps: `syncd adopt DIR` uses the files that")
	comment(b, "", "the updater has fetched, `syncd sync --take-over VIEW` replaces its folder and keeps it.")
	for _, note := range p.notes {
		if p.secrets.In(note) || !commandline.Printable(note) {
			note = "a line is left out, and its comment too, because it would show a licence"
		}
		comment(b, "", note)
	}
	b.WriteString("\n")
}

// licence writes where the Customer ID comes from, and never the ID.
func (p *plan) licence(b *bytes.Buffer) {
	if len(p.licences) == 0 {
		comment(b, "  ", "The lines have no licence. syncd, too, takes it from $"+commandline.LicenceVariable+" when nothing else sets it.")
		comment(b, "  ", "customer_id_file: /etc/syncd/customer_id")
		return
	}
	comment(b, "  ", fmt.Sprintf("Put the licence of %s into this file, which only syncd's user may read.", p.licences[0]))
	if different := slices.Compact(slices.Sorted(slices.Values(p.secrets))); len(different) > 1 {
		comment(b, "  ", fmt.Sprintf("The lines have %d different licences: a configuration has one. Make one of each.", len(different)))
	}
	b.WriteString("  customer_id_file: /etc/syncd/customer_id\n")
}

// dataDir proposes a folder beside the first export, where hard links are possible also
// under systemd: there, each path in ReadWritePaths= is a mount of its own.
func (p *plan) dataDir(b *bytes.Buffer) {
	for _, v := range p.views {
		beside := path.Join(path.Dir(v.export), "syncd")
		if v.export == "" || path.Dir(v.export) == "/" || p.exported(p.views, beside) != nil {
			continue
		}
		comment(b, "", "Beside an exported folder, such as in "+quoted(beside)+", the export needs no second copy of the files.")
		break
	}
	b.WriteString("data_dir: " + dataDir + "\n")
}

func (e *entry) isManifest() bool { return e.product == "" && len(e.files) == 0 }

func (e *entry) yaml(b *bytes.Buffer) {
	for _, note := range e.notes {
		comment(b, "  ", note)
	}
	b.WriteString("  - name: " + scalar(e.name) + "\n")
	if e.product != "" {
		b.WriteString("    product: " + scalar(e.product) + "\n")
	}
	if len(e.files) > 0 {
		b.WriteString("    files:\n")
	}
	for _, ref := range e.files {
		b.WriteString("      - " + scalar(ref.String()) + "\n")
	}
	if e.tag != "" {
		b.WriteString("    tag: " + scalar(e.tag) + "\n")
	}
	if e.release != manifest.Latest {
		b.WriteString("    release: " + scalar(string(e.release)) + "\n")
	}
	if e.schedule != "" {
		b.WriteString("    schedule: " + scalar(e.schedule) + "\n")
	}
}

func (v *view) yaml(b *bytes.Buffer, entries int) {
	for _, note := range v.notes {
		comment(b, "  ", note)
	}
	b.WriteString("  - name: " + scalar(v.name) + "\n")
	if len(v.members) < entries {
		b.WriteString("    manifests:\n")
		for _, e := range v.members {
			b.WriteString("      - " + scalar(e.name) + "\n")
		}
	}
	if v.layout() == "flat" && slices.ContainsFunc(v.members, (*entry).isManifest) {
		comment(b, "    ", "Two files of one name are refused, not overwritten. Use layout: provider for these.")
	}
	b.WriteString("    layout: " + v.layout() + "\n")
	if len(v.maps) > 0 {
		b.WriteString("    map_files:\n")
	}
	for _, e := range v.members {
		if file := v.maps[e]; file != "" {
			b.WriteString("      " + scalar(e.name) + ": " + scalar(file) + "\n")
		}
	}
	b.WriteString("    hash_files: true\n")
	if v.export != "" {
		comment(b, "    ", "syncd's user must own the folder above, and no one else may write in it.")
		b.WriteString("    export: " + scalar(v.export) + "\n")
	}
}

func comment(b *bytes.Buffer, indent, text string) { b.WriteString(indent + "# " + text + "\n") }

var plainScalar = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./-]*$`)

// scalar writes a text as a YAML value, quoted unless it is a plain word.
func scalar(text string) string {
	switch strings.ToLower(text) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return quoted(text)
	}
	if plainScalar.MatchString(text) {
		return text
	}
	return quoted(text)
}

// quoted writes a printable text in double quotes, in the form of YAML.
func quoted(text string) string { return strconv.Quote(text) }
