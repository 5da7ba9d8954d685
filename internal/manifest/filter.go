package manifest

import (
	"path"
	"slices"
	"strings"
)

// Filter chooses files of a manifest. Empty lists choose everything. The four
// segment lists are compared without case and apply only to files that have the
// segment; ANY in a file matches every list. Include and Exclude are path.Match
// globs for the name, or for the path when the glob has a slash.
type Filter struct {
	OS, Compiler, Language, Architecture []string
	Include, Exclude                     []string
}

// Fingerprint identifies f without regard to the case of its segments. Empty lists
// add nothing to it, so that a new kind of filter does not change old fingerprints.
func (f Filter) Fingerprint() string {
	var lines []string
	add := func(kind string, list []string) {
		for _, s := range list {
			lines = append(lines, kind+" "+s)
		}
	}
	fold := func(list []string) []string {
		upper := make([]string, len(list))
		for i, s := range list {
			upper[i] = strings.ToUpper(s)
		}
		return upper
	}
	add("os", fold(f.OS))
	add("compiler", fold(f.Compiler))
	add("language", fold(f.Language))
	add("architecture", fold(f.Architecture))
	add("include", f.Include)
	add("exclude", f.Exclude)
	return hashTexts(lines)[:12]
}

// Choose returns the files that pass f.
func (f Filter) Choose(list *List) *List {
	chosen := &List{size: list.size}
	for _, e := range list.entries {
		if f.Passes(e.reference()) {
			chosen.entries = append(chosen.entries, e)
		}
	}
	return chosen
}

// Passes is true when f chooses the file.
func (f Filter) Passes(r Reference) bool {
	p := r.Parts()
	return fits(f.OS, p.OS) && fits(f.Compiler, p.Compiler) &&
		fits(f.Language, p.Language) && fits(f.Architecture, p.Architecture) &&
		(len(f.Include) == 0 || matchesAny(f.Include, p)) && !matchesAny(f.Exclude, p)
}

func fits(list []string, segment string) bool {
	return len(list) == 0 || segment == "" || strings.EqualFold(segment, "ANY") ||
		slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, segment) })
}

func matchesAny(globs []string, p Parts) bool {
	for _, glob := range globs {
		text := p.Name
		if strings.Contains(glob, "/") {
			text = p.path()
		}
		if matched, err := path.Match(glob, text); err == nil && matched {
			return true
		}
	}
	return false
}
