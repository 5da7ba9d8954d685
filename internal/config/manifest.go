package config

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"syncd/internal/config/document"
	"syncd/internal/manifest"
)

// Manifest is one entry to mirror: a manifest of the provider with that name, a product,
// or single files.
type Manifest struct {
	Name     string
	Product  string               // "" unless the entry is a product
	Files    []manifest.Reference // empty unless the entry has single files; their releases may be aliases
	Tag      string               // variant of the product or the files; "" = none
	Release  manifest.Release
	Schedule Schedule        // its own or the general one
	Filter   manifest.Filter // as written in the file
	Activate Activation      // its own or the general one
	Gate     Gate            // its own or the general one
}

// manifests decodes the list of manifests. general has the values of a manifest without
// its own.
func (d *decoder) manifests(n *document.Node, general Manifest) []Manifest {
	const next = "run `syncd manifests` for the names, and list at least one"
	if d.sourceOnly && (n == nil || n.Null) {
		return nil
	}
	if n == nil || n.Null {
		d.Fail("manifests", "is missing", next)
		return nil
	}
	if n.Kind != document.ListKind {
		d.Fail("manifests", "must be a list", "write each manifest as an entry that begins with \"- name: \"")
		return nil
	}
	if len(n.Items) == 0 && !d.sourceOnly {
		d.Fail("manifests", "is empty", next)
	}
	list := make([]Manifest, len(n.Items))
	for i, item := range n.Items {
		list[i] = general
		d.manifest(&list[i], document.Index("manifests", i), item)
	}
	return list
}

func (d *decoder) manifest(m *Manifest, path string, n *document.Node) {
	d.SetPosition(path, n.At)
	if n.Kind != document.MappingKind {
		d.Fail(path, "must be a mapping", "write \"- name: \" and the manifest's name")
		return
	}
	var files []string
	d.Mapping(path, n, document.Table{
		"name":         document.Scalar(&m.Name, parseName),
		"product":      document.Scalar(&m.Product, parseProduct),
		"files":        document.List(&files, parseReference),
		"tag":          document.Scalar(&m.Tag, parseTag),
		"release":      document.Scalar(&m.Release, parseRelease),
		"schedule":     document.Scalar(&m.Schedule, parseSchedule),
		"os":           document.List(&m.Filter.OS, parseSegment),
		"compiler":     document.List(&m.Filter.Compiler, parseSegment),
		"language":     document.List(&m.Filter.Language, parseSegment),
		"architecture": document.List(&m.Filter.Architecture, parseSegment),
		"include":      document.List(&m.Filter.Include, parseGlob),
		"exclude":      document.List(&m.Filter.Exclude, parseGlob),
		"activate":     activation(&m.Activate),
		"gate":         gateOf(&m.Gate),
	})
	if !d.IsSet(path + ".name") {
		d.Fail(path+".name", "is missing", "write the manifest's name, as `syncd manifests` lists it")
	}
	m.Files = references(d.Decoder, path+".files", files)
	checkKind(d.Decoder, m, path)
}

// references turns the texts of single files, which parseReference has checked.
func references(d *document.Decoder, path string, texts []string) []manifest.Reference {
	if d.IsSet(path) && len(texts) == 0 {
		d.Fail(path, "is empty", "list at least one file, such as Data/latest/ews.txt")
	}
	var refs []manifest.Reference
	var paths []string
	for i, text := range texts {
		ref, err := manifest.ParseReference(text)
		if err != nil {
			continue // it has a problem
		}
		same := func(other manifest.Reference) bool {
			return other.Class() == ref.Class() && other.Release() == ref.Release() && other.Path() == ref.Path()
		}
		if slices.ContainsFunc(refs, same) {
			d.Fail(document.Index(path, i), "is listed twice", "list each file once")
			continue
		}
		refs, paths = append(refs, ref), append(paths, ref.Path())
	}
	if manifest.CheckTree(paths) != nil {
		d.Fail(path, "two of its files have the same path, or paths that differ only in case", "list them in entries of their own")
	}
	return refs
}

// checkKind refuses an entry that is more than one of manifest, product and files.
func checkKind(d *document.Decoder, m *Manifest, path string) {
	hasProduct, hasFiles := d.IsSet(path+".product"), d.IsSet(path+".files")
	if hasProduct && hasFiles {
		d.Fail(path+".files", "product is set too", "write two entries, one with product and one with files")
	}
	if (hasProduct || hasFiles) && d.IsSet("source.s3") {
		d.Fail(path, "has product or files, but a follower of a bucket mirrors entries of its publisher", "keep the name of the publisher's entry only")
	}
	if m.Tag != "" && !hasProduct && !hasFiles {
		d.Fail(path+".tag", "is only for an entry with product or files", "remove it: the links of a manifest have their own tags")
	}
}

// servedName is a name in current/, and the path of the manifest or view that has it.
type servedName struct{ path, name string }

// checkNames refuses names that collide on disk, where <name>.json and
// <name>.SHA256SUMS lie beside <name>. Case is ignored, because some file systems do.
func checkNames(d *document.Decoder, c *Config) {
	var all []servedName
	for i, m := range c.Manifests {
		all = append(all, servedName{document.Index("manifests", i), m.Name})
	}
	for i, v := range c.Views {
		all = append(all, servedName{document.Index("views", i), v.Name})
	}
	for i, g := range c.Groups { // `syncd activate` takes both
		all = append(all, servedName{document.Index("groups", i), g.Name})
	}
	first := make(map[string]string, len(all))
	for _, e := range all {
		key := strings.ToLower(e.name)
		if e.name == "" {
			continue
		}
		if other, ok := first[key]; ok {
			d.Fail(e.path+".name", other+" has the same name (case is ignored)", "give each manifest, view and group a name of its own")
			continue
		}
		first[key] = e.path
	}
	for _, e := range all {
		for _, suffix := range []string{".json", ".sha256sums"} {
			base, cut := strings.CutSuffix(strings.ToLower(e.name), suffix)
			if other, ok := first[base]; ok && cut {
				d.Fail(e.path+".name", "is the name of a file that belongs to "+other, "mirror the two in separate data directories")
			}
		}
	}
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$`)

// parseName accepts names that are safe for a file and a directory.
func parseName(text string) (string, *document.Fault) {
	switch {
	case text == "":
		return "", document.Refuse("is empty", "write a name")
	case !namePattern.MatchString(text):
		return "", document.Refuse("is not usable as a name", "use at most 200 letters, digits, dots, underscores and dashes, and no dot or dash in front")
	}
	return text, nil
}

// parseRelease drops the error of manifest.ParseRelease, which quotes the text.
func parseRelease(text string) (manifest.Release, *document.Fault) {
	release, err := manifest.ParseRelease(text)
	if err != nil {
		return "", refuseNumber(text, "is not a release", "use latest, a month such as 2026.10, a quarter such as 2026.Q4 or a two-month period such as 2026.B5")
	}
	return release, nil
}

var (
	parseSegment = accepting(isSegment, "is not a plain word", "use a name such as LINUX, GCC48, JAVA or 64BIT")
	parseProduct = accepting(isSegment, "is not the name of a product", "use a name such as DataQualitySuite")
	// parseTag accepts a tag that needs no escaping in a query.
	parseTag = accepting(paramPattern.MatchString, "is not a tag", "use letters, digits, dots, underscores and dashes, such as NET7")
)

// isSegment is true for one plain path segment.
func isSegment(text string) bool {
	return manifest.CheckSegment(text) == nil && strings.TrimSpace(text) == text
}

// parseReference accepts the path of a file, with a release or an alias, and returns it
// with the release in its usual form.
func parseReference(text string) (string, *document.Fault) {
	const next = "use a path such as Data/latest/ews.txt or Library/LINUX/GCC48/64BIT/2026.10/libmdAddr.so"
	ref, err := manifest.ParseReference(text)
	if err != nil {
		return "", document.Refuse("is not the path of a file", next)
	}
	release, err := manifest.ParseRelease(string(ref.Release()))
	if err != nil {
		return "", document.Refuse("its release is not latest, a month, a quarter or a two-month period", next)
	}
	return ref.WithRelease(release).String(), nil
}

// parseGlob accepts globs that can match a path.
func parseGlob(text string) (string, *document.Fault) {
	const next = "use * ? and [a-z], such as *.dat or linux/*/64bit/*"
	if _, err := path.Match(text, ""); err != nil || text == "" {
		return "", document.Refuse("is not a glob", next)
	}
	if strings.HasPrefix(text, "/") {
		return "", document.Refuse("never matches: paths within the manifest do not begin with a slash", "remove the leading slash")
	}
	for segment := range strings.SplitSeq(text, "/") {
		if segment == "**" {
			return "", document.Refuse("** matches one folder only, as * does", "write one * for each folder, or a glob without a slash, which is compared with the file's name")
		}
	}
	return text, nil
}

// UsableName is true for a text that can be the name of an entry of manifests or views.
func UsableName(text string) bool { _, f := parseName(text); return f == nil }

// UsableTag is true for a text that can be a tag.
func UsableTag(text string) bool { _, f := parseTag(text); return f == nil }
