package config

import (
	"regexp"
	"slices"
	"strings"
)

// sample is what configs/syncd.yaml says of each key.
type sample struct {
	own   map[string]string // the comment above the key
	value map[string]string // of keys that are not commented out
	near  map[string]string // the key whose comment also holds for a key directly below
	paths []string          // in the order of the file
}

// meaning returns a key's own explanation, or names the key that explains it.
func (s sample) meaning(path string) string {
	if text := s.own[path]; text != "" {
		return text
	}
	if near := s.near[path]; near != "" {
		return "See `" + near + "`."
	}
	for in, general := range map[string]string{"manifests[].": "", "services.SERVICE.": "source."} {
		if name, found := strings.CutPrefix(path, in); found && name != "url" && s.meaning(general+name) != "" {
			return "By default as `" + general + name + "`."
		}
	}
	for above := path; above != ""; {
		above = above[:max(strings.LastIndexAny(above, ".["), 0)]
		if s.own[above] != "" {
			return "See `" + above + "`."
		}
	}
	return ""
}

// order returns the position of a key in the file, or of the nearest key above it.
func (s sample) order(path string) int {
	for above := path; above != ""; above = above[:max(strings.LastIndexAny(above, ".["), 0)] {
		if i := slices.Index(s.paths, above); i >= 0 {
			return i
		}
	}
	return len(s.paths)
}

var (
	keyLine      = regexp.MustCompile(`^( *)((?:- )?)([a-z0-9_]+):(?: +(.*))?$`)
	sideComment  = regexp.MustCompile(` +# .*$`)
	commentMark  = regexp.MustCompile(`^( *)# ?`)
	serviceNames = regexp.MustCompile(`^services\.(contribution|list|property|autocomplete|reversegeo)\b`)
)

// readSample reads the file line by line. A line of a known key at the right indentation
// is a key, also when it is commented out; any other comment explains the next key.
func readSample(text string, known map[string]bool) sample {
	s := sample{own: map[string]string{}, value: map[string]string{}, near: map[string]string{}}
	var stack []level
	var comment []string
	last := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		plain := commentMark.ReplaceAllString(line, "$1")
		k := keyLine.FindStringSubmatch(plain)
		path := ""
		if k != nil {
			stack, path = locate(stack, len(k[1]), k[2] != "", k[3], known)
		}
		switch {
		case path != "":
			s.note(path, strings.Join(comment, " "), last)
			if plain == line {
				s.value[path] = sideComment.ReplaceAllString(k[4], "")
			}
			comment, last = nil, path
		case line == "":
			comment, last = nil, ""
		case strings.TrimSpace(plain) == "": // between two paragraphs of a comment
			last = ""
		case plain != line:
			comment = append(comment, strings.TrimSpace(commentMark.ReplaceAllString(plain, "")))
		}
	}
	return s
}

// note keeps what stands at the first line of a key.
func (s *sample) note(path, comment, last string) {
	if slices.Contains(s.paths, path) {
		return
	}
	s.paths = append(s.paths, path)
	s.own[path] = comment
	switch {
	case comment != "" || last == "" || parentOf(last) != parentOf(path):
	case s.near[last] != "":
		s.near[path] = s.near[last]
	case s.own[last] != "":
		s.near[path] = last
	}
}

func parentOf(path string) string { return path[:max(strings.LastIndexByte(path, '.'), 0)] }

// level is a key with the indentation of its line.
type level struct {
	indent int
	path   string
}

// locate returns the path of a key by the keys above it, or "" if the tables do not know
// it there.
func locate(stack []level, indent int, item bool, name string, known map[string]bool) ([]level, string) {
	if item {
		indent += len("- ")
	}
	above := stack
	for len(above) > 0 && above[len(above)-1].indent >= indent {
		above = above[:len(above)-1]
	}
	candidates := []string{name}
	if indent > 0 {
		if len(above) == 0 {
			return stack, ""
		}
		parent := above[len(above)-1].path
		candidates = []string{parent + "." + name, parent + "[]." + name}
	}
	for _, path := range candidates {
		path = serviceNames.ReplaceAllString(path, "services.SERVICE")
		if known[path] {
			return append(above, level{indent, path}), path
		}
	}
	return stack, ""
}
