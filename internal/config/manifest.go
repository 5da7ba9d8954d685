package config

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"syncd/internal/manifest"
)

// Manifest is one manifest to mirror.
type Manifest struct {
	Name     string
	Release  manifest.Release
	Schedule Schedule        // its own or the general one
	Filter   manifest.Filter // as written in the file
}

// manifests decodes the list of manifests. general is the schedule of a manifest without
// its own.
func (d *decoder) manifests(n *node, general Schedule) []Manifest {
	if n == nil || n.null {
		d.fail("manifests", fault{"is missing", "list at least one manifest by name"})
		return nil
	}
	if n.kind != listKind {
		d.fail("manifests", fault{"must be a list", "write each manifest as an entry that begins with \"- name: \""})
		return nil
	}
	if len(n.items) == 0 {
		d.fail("manifests", fault{"is empty", "list at least one manifest by name"})
	}
	list := make([]Manifest, len(n.items))
	for i, item := range n.items {
		list[i] = Manifest{Release: manifest.Latest, Schedule: general}
		d.manifest(&list[i], index("manifests", i), item)
	}
	d.checkNames(list)
	return list
}

func (d *decoder) manifest(m *Manifest, path string, n *node) {
	d.at[path] = n.at
	if n.kind != mappingKind {
		d.fail(path, fault{"must be a mapping", "write \"- name: \" and the manifest's name"})
		return
	}
	d.mapping(path, n, table{
		"name":         scalar(&m.Name, parseName),
		"release":      scalar(&m.Release, parseRelease),
		"schedule":     scalar(&m.Schedule, parseSchedule),
		"os":           list(&m.Filter.OS, parseSegment),
		"compiler":     list(&m.Filter.Compiler, parseSegment),
		"language":     list(&m.Filter.Language, parseSegment),
		"architecture": list(&m.Filter.Architecture, parseSegment),
		"include":      list(&m.Filter.Include, parseGlob),
		"exclude":      list(&m.Filter.Exclude, parseGlob),
	})
	if !d.isSet(path + ".name") {
		d.fail(path+".name", fault{"is missing", "write the manifest's name, as `syncd manifests` lists it"})
	}
}

// checkNames refuses names that collide on disk, where <name>.json and
// <name>.SHA256SUMS lie beside <name>. Case is ignored, because some file systems do.
func (d *decoder) checkNames(list []Manifest) {
	first := make(map[string]int, len(list))
	for i, m := range list {
		key := strings.ToLower(m.Name)
		if m.Name == "" {
			continue
		}
		if j, ok := first[key]; ok {
			d.fail(index("manifests", i)+".name", fault{
				fmt.Sprintf("manifests[%d] has the same name (case is ignored)", j), "name each manifest once",
			})
			continue
		}
		first[key] = i
	}
	for i, m := range list {
		for _, suffix := range []string{".json", ".sha256sums"} {
			base, cut := strings.CutSuffix(strings.ToLower(m.Name), suffix)
			if j, ok := first[base]; ok && cut {
				d.fail(index("manifests", i)+".name", fault{
					fmt.Sprintf("is the name of a file that belongs to manifests[%d]", j), "mirror the two in separate data directories",
				})
			}
		}
	}
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$`)

// parseName accepts names that are safe for a file and a directory.
func parseName(text string) (string, *fault) {
	switch {
	case text == "":
		return "", &fault{"is empty", "write the manifest's name, as `syncd manifests` lists it"}
	case !namePattern.MatchString(text):
		return "", &fault{"is not usable as a manifest's name", "use at most 200 letters, digits, dots, underscores and dashes, and no dot or dash in front"}
	}
	return text, nil
}

// parseRelease drops the error of manifest.ParseRelease, which quotes the text.
func parseRelease(text string) (manifest.Release, *fault) {
	release, err := manifest.ParseRelease(text)
	if err != nil {
		return "", &fault{"is not a release", "use latest, a month such as 2026.10, a quarter such as 2026.Q4 or a two-month period such as 2026.B5"}
	}
	return release, nil
}

// parseSegment accepts one plain path segment.
func parseSegment(text string) (string, *fault) {
	if manifest.CheckSegment(text) != nil || strings.TrimSpace(text) != text {
		return "", &fault{"is not a plain word", "use a name such as LINUX, GCC48, JAVA or 64BIT"}
	}
	return text, nil
}

// parseGlob accepts globs that can match a path.
func parseGlob(text string) (string, *fault) {
	const next = "use * ? and [a-z], such as *.dat or linux/*/64bit/*"
	if _, err := path.Match(text, ""); err != nil || text == "" {
		return "", &fault{"is not a glob", next}
	}
	if strings.HasPrefix(text, "/") {
		return "", &fault{"never matches: paths within the manifest do not begin with a slash", "remove the leading slash"}
	}
	for segment := range strings.SplitSeq(text, "/") {
		if segment == "**" {
			return "", &fault{"** matches one folder only, as * does", "write one * for each folder, or a glob without a slash, which is compared with the file's name"}
		}
	}
	return text, nil
}
