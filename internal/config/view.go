package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"syncd/internal/config/document"
	"syncd/internal/config/value"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest/layout"
	exports "syncd/internal/mirror/export"
)

// View is one arrangement of mirrored files, served beside the manifests.
type View struct {
	Name      string
	Manifests []string // their names, at least one
	Layout    layout.Layout
	MapFiles  []MapFile // for layout.ByMap
	HashFiles bool      // <file>.hash lies beside each file
	Export    string    // a folder outside data_dir that is kept equal to the view, absolute; "" = none
}

// MapFile is the map file of one manifest. Read reads it.
type MapFile struct {
	Manifest string
	Path     string // absolute after Load

	file string // the config file, for errors
	at   document.Place
}

// Read reads and parses the map file. Its error is a *document.Error.
func (m MapFile) Read() (*layout.Map, error) {
	data, _, err := fsops.ReadRegular(m.Path, layout.MaxMap)
	if err != nil && !errors.Is(err, fsops.ErrTooLarge) { // ParseMap refuses a file that is too large
		return nil, m.at.Unreadable(m.file, "the map file", err)
	}
	parsed, err := layout.ParseMap(data)
	if err != nil {
		problem := m.at.Error(m.file, "is not a usable map file: "+err.Error(), "correct the map file")
		problem.Cause = err
		return nil, problem
	}
	return parsed, nil
}

// ReadMaps reads the map files of a view, by manifest.
func (v View) ReadMaps() (map[string]*layout.Map, error) {
	maps := make(map[string]*layout.Map, len(v.MapFiles))
	for _, m := range v.MapFiles {
		parsed, err := m.Read()
		if err != nil {
			return nil, err
		}
		maps[m.Manifest] = parsed
	}
	return maps, nil
}

// CheckMaps reads the map files of all views.
func (c *Config) CheckMaps() error {
	for _, v := range c.Views {
		if _, err := v.ReadMaps(); err != nil {
			return err
		}
	}
	return nil
}

// views decodes the list of views. It must run after manifests and data_dir are decoded.
func (d *decoder) views(n *document.Node, c *Config) []View {
	if n == nil || n.Null {
		return nil
	}
	if n.Kind != document.ListKind {
		d.Fail("views", "must be a list", "write each view as an entry that begins with \"- name: \"")
		return nil
	}
	list := make([]View, len(n.Items))
	for i, item := range n.Items {
		list[i] = View{Layout: layout.Provider}
		d.view(&list[i], document.Index("views", i), item, c)
	}
	checkExports(d.Decoder, list, c.DataDir)
	return list
}

func (d *decoder) view(v *View, path string, n *document.Node, c *Config) {
	d.SetPosition(path, n.At)
	if n.Kind != document.MappingKind {
		d.Fail(path, "must be a mapping", "write \"- name: \" and a name for the view")
		return
	}
	var maps *document.Node
	d.Mapping(path, n, document.Table{
		"name":       document.Scalar(&v.Name, value.Name),
		"manifests":  document.List(&v.Manifests, value.Name),
		"layout":     document.Scalar(&v.Layout, parseLayout),
		"map_files":  document.Keep(&maps),
		"hash_files": document.Scalar(&v.HashFiles, value.Bool),
		"export":     document.Scalar(&v.Export, parseExport),
	})
	if !d.IsSet(path + ".name") {
		d.Fail(path+".name", "is missing", "write a name for the view, by which current/ shows it")
	}
	checkMembers(d.Decoder, v, path+".manifests", c)
	d.mapFiles(v, path+".map_files", maps)
	if v.Layout == layout.ByMap && maps == nil {
		d.Fail(path+".layout", "needs map_files", "name the map file of each manifest in map_files, or use layout: provider")
	}
}

// checkMembers checks the manifests of a view. Without any, the view has all.
func checkMembers(d *document.Decoder, v *View, path string, c *Config) {
	if !d.IsSet(path) || len(v.Manifests) == 0 && d.Valid(path) {
		v.Manifests = c.Names()
		return
	}
	for i, name := range v.Manifests {
		at := document.Index(path, i)
		if !d.IsSet(at) { // one value instead of a list
			at = path
		}
		switch {
		case name == "": // it has a problem
		case !c.Has(name):
			d.Fail(at, "is not in manifests", "write the name of an entry of manifests, in the same case")
		case slices.Contains(v.Manifests[:i], name):
			d.Fail(at, "is listed twice", "list each manifest once")
		}
	}
}

// mapFiles decodes map_files, whose keys are the names of manifests.
func (d *decoder) mapFiles(v *View, path string, n *document.Node) {
	if n == nil || n.Null {
		return
	}
	if n.Kind != document.MappingKind {
		d.Fail(path, "must be a mapping", "write {MANIFEST: PATH}")
		return
	}
	if v.Layout != layout.ByMap && d.Valid(path[:strings.LastIndexByte(path, '.')]+".layout") {
		d.Fail(path, "is only for layout: map", "add layout: map, or remove map_files")
	}
	for i, f := range n.Fields {
		m := MapFile{Manifest: f.Key, file: d.File}
		at := document.Index(path, i) // a name that nobody chose may be a secret
		if slices.Contains(v.Manifests, f.Key) {
			at = path + "." + f.Key
		}
		d.SetPosition(at, f.At)
		same := func(other MapFile) bool { return other.Manifest == f.Key }
		switch {
		case !slices.Contains(v.Manifests, f.Key):
			d.Fail(at, "names a manifest that the view does not have", "use a name from the manifests of the view")
		case slices.ContainsFunc(v.MapFiles, same):
			d.Fail(at, "has two maps for one manifest", "keep one of them")
		}
		d.SetPosition(at, f.Value.At)
		document.Scalar(&m.Path, d.mapPath)(d.Decoder, at, f.Value)
		m.at = d.Place(at)
		v.MapFiles = append(v.MapFiles, m)
	}
}

func (d *decoder) mapPath(text string) (string, *document.Fault) {
	if text == "" {
		return "", document.Refuse("is empty", "write the path of a map file")
	}
	return d.besideConfig(text)
}

// checkExports refuses exports that would change each other or the mirror. The paths are
// compared as written; symlinks are checked when the export is made.
func checkExports(d *document.Decoder, list []View, dataDir string) {
	for i, v := range list {
		path := document.Index("views", i) + ".export"
		if v.Export == "" {
			continue
		}
		if d.Valid("data_dir") && (within(v.Export, dataDir) || within(dataDir, v.Export)) {
			d.Fail(path, "is inside data_dir, or data_dir is inside it", "use a folder that is separate from data_dir")
		} else if d.Valid("data_dir") && isBeside(dataDir, v.Export) {
			d.Fail(path, "keeps its trees in data_dir", "give the folder another name")
		}
		for j, other := range list {
			if other.Export != "" && j != i && isBeside(v.Export, other.Export) {
				d.Fail(path, "is where the export of "+document.Index("views", j)+" keeps its trees", "give the folder another name")
			}
		}
		for j, other := range list[:i] {
			if other.Export != "" && (within(v.Export, other.Export) || within(other.Export, v.Export)) {
				d.Fail(path, "overlaps the export of "+document.Index("views", j), "export each view to a folder of its own")
			}
		}
	}
}

// isBeside is true for a path in a folder that an export makes beside its own.
func isBeside(path, export string) bool {
	return slices.ContainsFunc(exports.Beside(export), func(reserved string) bool { return within(path, reserved) })
}

// within is true when path is dir or lies below it. Both are absolute and clean.
func within(path, dir string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(relative)
}

func parseLayout(text string) (layout.Layout, *document.Fault) {
	switch of := layout.Layout(strings.ToLower(text)); of {
	case layout.Native, layout.Flat, layout.Provider, layout.ByMap:
		return of, nil
	}
	return "", document.Refuse("is not a layout", "use native, flat, provider or map")
}

// parseExport accepts an absolute path that is not the root.
func parseExport(text string) (string, *document.Fault) {
	path := filepath.Clean(text)
	if !filepath.IsAbs(path) || path == "/" {
		return "", document.Refuse("is not an absolute path of a folder", "use a path such as /srv/refdata")
	}
	if exports.IsSystemFolder(path) {
		return "", document.Refuse("is a folder of the operating system", "use a folder of its own, such as /srv/refdata")
	}
	return path, nil
}
