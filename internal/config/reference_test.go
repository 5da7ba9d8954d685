package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/config/document"
)

const referenceFile = "../../docs/configuration.md"

const referenceHead = `# Configuration reference

<!-- Generated: SYNCD_UPDATE_DOCS=1 go test ./internal/config -run TestConfigurationReference -->

These are all keys of the configuration file. Its path is ` + "`--config`, else `$SYNCD_CONFIG`, else `/etc/syncd/syncd.yaml`" + `. The file is YAML.

- ` + "`[]`" + ` is each entry of a list. SERVICE is contribution, list, property, autocomplete or reversegeo.
- "required" means that the mapping which holds the key needs it.
- "Accepts" is what an error of ` + "`syncd config check`" + ` suggests for a wrong value.
- [configs/syncd.yaml](../configs/syncd.yaml) has the same explanations, as a file to start from.
`

// TestConfigurationReferenceIsCurrent compares docs/configuration.md with the tables
// that check the keys. With SYNCD_UPDATE_DOCS=1 it writes the document.
func TestConfigurationReferenceIsCurrent(t *testing.T) {
	explained := shippedSample(t)
	for _, k := range knownKeys() {
		if !k.parent && explained.meaning(k.path) == "" {
			t.Errorf("configs/syncd.yaml does not explain %s", k.path)
		}
	}
	text := reference(explained)
	if os.Getenv("SYNCD_UPDATE_DOCS") != "" {
		must(t, os.WriteFile(referenceFile, []byte(text), 0o644))
		return
	}
	current, err := os.ReadFile(referenceFile)
	must(t, err)
	if diff := cmp.Diff(strings.Split(text, "\n"), strings.Split(string(current), "\n")); diff != "" {
		t.Errorf("docs/configuration.md is not current: see its first comment\n%s", diff)
	}
}

// shippedSample returns what configs/syncd.yaml says.
func shippedSample(t *testing.T) sample {
	t.Helper()
	known := map[string]bool{}
	for _, k := range knownKeys() {
		known[k.path] = true
	}
	text, err := os.ReadFile("../../configs/syncd.yaml")
	must(t, err)
	return readSample(string(text), known)
}

// section is the keys at the top, or those below one of them.
type section struct {
	name, intro string
	keys        []key
}

// sections have the order of configs/syncd.yaml.
func sections(explained sample) []section {
	all := slices.Clone(knownKeys())
	slices.SortStableFunc(all, func(a, b key) int { return explained.order(a.path) - explained.order(b.path) })
	list := []section{{name: "General"}}
	for _, k := range all {
		top, _, _ := strings.Cut(strings.TrimSuffix(k.path, "[]"), ".")
		top = strings.TrimSuffix(top, "[]")
		last := &list[len(list)-1]
		switch {
		case top == k.path && !k.parent:
			list[0].keys = append(list[0].keys, k)
			continue
		case top != last.name:
			list = append(list, section{name: top, intro: explained.own[top]})
			last = &list[len(list)-1]
		}
		if !k.parent || k.accepts != "" || k.path != top && explained.own[k.path] != "" {
			last.keys = append(last.keys, k)
		}
	}
	return list
}

// reference writes a table for each section.
func reference(explained sample) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, s := range sections(explained) {
		fmt.Fprintf(&b, "\n## %s\n\n", s.name)
		if s.intro != "" {
			fmt.Fprintf(&b, "%s\n\n", cell(s.intro))
		}
		b.WriteString("| key | default | accepts | meaning |\n|---|---|---|---|\n")
		var inherited []string
		for _, k := range s.keys {
			meaning := explained.meaning(k.path)
			if strings.HasPrefix(meaning, "By default as ") {
				inherited = append(inherited, code(k.path))
				continue
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.path, k.value(explained), cell(strings.TrimPrefix(k.accepts, "a form ")), cell(meaning))
		}
		if inherited != nil {
			fmt.Fprintf(&b, "| %s |  |  | By default as the same keys of %s. |\n", strings.Join(inherited, ", "), map[bool]string{true: "`source`", false: "the file"}[s.name == "services"])
		}
	}
	return b.String()
}

func (k key) value(explained sample) string {
	if k.required {
		return "required"
	}
	return code(explained.value[k.path])
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", `\<`).Replace(text)
}

// key is one key that the tables know.
type key struct {
	path    string
	accepts string // the suggestion for a wrong value
	parent  bool   // it has keys below it

	required bool // a file without it is refused
}

// knownKeys returns all keys in the order of their paths. It learns them from the errors
// for an unknown key and for a wrong value, at each place of a file.
var knownKeys = sync.OnceValue(func() []key {
	var all []key
	seen := map[string]bool{}
	for _, k := range keysBelow(nil) {
		for _, service := range []string{"contribution", "list", "property", "reversegeo", "autocomplete"} {
			k.path = strings.Replace(k.path, "services."+service, "services.SERVICE", 1)
		}
		if !seen[k.path] {
			seen[k.path] = true
			all = append(all, k)
		}
	}
	return all
})

// keysBelow returns the keys of the mapping at steps; the step [] is an entry of a list.
func keysBelow(steps []string) []key {
	var all []key
	for _, name := range namesAt(steps) {
		at := append(slices.Clone(steps), name)
		below := keysBelow(at)
		if len(below) == 0 {
			below = keysBelow(append(at, "[]"))
		}
		all = append(all, key{path: pathOf(at), accepts: accepted(at), parent: len(below) > 0, required: isRequired(at)})
		all = append(all, below...)
	}
	return all
}

func pathOf(steps []string) string {
	return strings.ReplaceAll(strings.Join(steps, "."), ".[]", "[]")
}

// wrong is a value that every parser refuses, and the name of no key.
const wrong = "[/[/[/"

// namesAt returns the keys that a mapping at steps can have.
func namesAt(steps []string) []string {
	for _, e := range problemsAt(steps, &document.Node{Kind: document.MappingKind, Fields: []document.Field{{Key: wrong, Value: &document.Node{}}}}) {
		list, found := strings.CutPrefix(e.Suggestion, "the keys here are ")
		if found && e.Key == keyOf(steps) {
			return strings.Split(list, ", ")
		}
	}
	return nil
}

// accepted returns the suggestion for a wrong value, and says whether it can be a list.
func accepted(steps []string) string {
	text := suggestionAt(keyOf(steps), problemsAt(steps, &document.Node{Text: wrong}))
	list := problemsAt(steps, &document.Node{Kind: document.ListKind, Items: []*document.Node{{Text: wrong}}})
	whole, item := suggestionAt(keyOf(steps), list), suggestionAt(keyOf(steps)+"[0]", list)
	switch {
	case strings.HasPrefix(text, "write its keys"), strings.HasPrefix(text, "write each"):
		return ""
	case item != "":
		return "one value or a list: " + item
	case text == "" && whole == "":
		return "a list"
	case text == "" && !strings.HasPrefix(whole, "write one value"):
		return whole
	}
	return text
}

// isRequired is true when the key cannot be left out of its mapping.
func isRequired(steps []string) bool {
	return slices.ContainsFunc(problemsAt(steps[:len(steps)-1], &document.Node{Kind: document.MappingKind}), func(e *document.Error) bool {
		return e.Key == keyOf(steps) && strings.HasPrefix(e.Problem, "is missing")
	})
}

// suggestionAt returns the first suggestion for a value. Problems with another key that
// must be set, too, do not count.
func suggestionAt(key string, problems []*document.Error) string {
	for _, e := range problems {
		if e.Key == key && !strings.HasPrefix(e.Suggestion, "set ") {
			return strings.TrimPrefix(e.Suggestion, "use ")
		}
	}
	return ""
}

func keyOf(steps []string) string { return strings.ReplaceAll(pathOf(steps), "[]", "[0]") }

// problemsAt decodes a document that has only the value at steps.
func problemsAt(steps []string, value *document.Node) []*document.Error {
	for _, step := range slices.Backward(steps) {
		if step == "[]" {
			value = &document.Node{Kind: document.ListKind, Items: []*document.Node{value}}
		} else {
			value = &document.Node{Kind: document.MappingKind, Fields: []document.Field{{Key: step, Value: value}}}
		}
	}
	d, err := newDecoder("syncd.yaml", Environment{})
	if err != nil {
		panic(err)
	}
	d.config(value)
	return d.Problems()
}
