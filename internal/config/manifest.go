package config

import (
	"slices"
	"strings"
	"time"

	"syncd/internal/changes"
	"syncd/internal/config/document"
	"syncd/internal/config/schedule"
	"syncd/internal/config/value"
	"syncd/internal/manifest"
	"syncd/internal/manifest/expiry"
)

// Manifest is one entry to mirror: a manifest of the provider with that name, a product,
// or single files.
type Manifest struct {
	Name     string
	Product  string               // "" unless the entry is a product
	Files    []manifest.Reference // empty unless the entry has single files; their releases may be aliases
	Tag      string               // variant of the product or the files; "" = none
	Release  manifest.Release
	Schedule schedule.Schedule // its own or the general one
	Filter   manifest.Filter   // as written in the file
	Activate Activation        // its own or the general one
	Gate     Gate              // its own or the general one
	Probe    Probe             // its own or the general one
	Expires  expiry.Rule
	Rows     []changes.Rule // how to read the rows of its files, to compare them; the first that matches counts

	DestroyAfter time.Duration // after it was last served; 0 for never
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
		"name":         document.Scalar(&m.Name, value.Name),
		"product":      document.Scalar(&m.Product, value.Product),
		"files":        document.List(&files, value.Reference),
		"tag":          document.Scalar(&m.Tag, value.Tag),
		"release":      document.Scalar(&m.Release, value.Release),
		"schedule":     document.Scalar(&m.Schedule, schedule.Value),
		"os":           document.List(&m.Filter.OS, value.Segment),
		"compiler":     document.List(&m.Filter.Compiler, value.Segment),
		"language":     document.List(&m.Filter.Language, value.Segment),
		"architecture": document.List(&m.Filter.Architecture, value.Segment),
		"include":      document.List(&m.Filter.Include, value.Glob),
		"exclude":      document.List(&m.Filter.Exclude, value.Glob),
		"activate":     activation(&m.Activate),
		"gate":         gateOf(&m.Gate),
		"probe":        probeOf(&m.Probe),
		"expires":      expires(&m.Expires),
		"on_expiry":    document.Scalar(&m.Expires.Withdraw, parseOnExpiry),
		"rows":         rows(&m.Rows),

		"destroy_after": document.Scalar(&m.DestroyAfter, value.LongDuration),
	})
	if !d.IsSet(path + ".name") {
		d.Fail(path+".name", "is missing", "write the manifest's name, as `syncd manifests` lists it")
	}
	m.Files = references(d.Decoder, path+".files", files)
	checkKind(d.Decoder, m, path)
}

// references turns the texts of single files, which value.Reference has checked.
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
	if (hasProduct || hasFiles) && (d.IsSet("source.s3") || d.IsSet("source.bundles")) {
		d.Fail(path, "has product or files, but a follower of a bucket or of bundles mirrors entries of its publisher", "keep the name of the publisher's entry only")
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

// UsableName is true for a text that can be the name of an entry of manifests or views.
func UsableName(text string) bool { _, f := value.Name(text); return f == nil }

// UsableTag is true for a text that can be a tag.
func UsableTag(text string) bool { _, f := value.Tag(text); return f == nil }
