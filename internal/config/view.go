package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest/layout"
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
	at   place
}

// Read reads and parses the map file. Its error is an *Error.
func (m MapFile) Read() (*layout.Map, error) {
	data, _, err := fsops.ReadRegular(m.Path, layout.MaxMap)
	if err != nil && !errors.Is(err, fsops.ErrTooLarge) { // ParseMap refuses a file that is too large
		cause := systemError(err)
		problem := m.at.error(m.file, fault{"cannot be read: " + cause.Error(), "check that the map file is there and that syncd's user may read it"})
		problem.cause = cause
		return nil, problem
	}
	parsed, err := layout.ParseMap(data)
	if err != nil {
		problem := m.at.error(m.file, fault{"is not a usable map file: " + err.Error(), "correct the map file"})
		problem.cause = err
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
func (d *decoder) views(n *node, c *Config) []View {
	if n == nil || n.null {
		return nil
	}
	if n.kind != listKind {
		d.fail("views", fault{"must be a list", "write each view as an entry that begins with \"- name: \""})
		return nil
	}
	list := make([]View, len(n.items))
	for i, item := range n.items {
		list[i] = View{Layout: layout.Provider}
		d.view(&list[i], index("views", i), item, c)
	}
	d.checkExports(list, c.DataDir)
	return list
}

func (d *decoder) view(v *View, path string, n *node, c *Config) {
	d.at[path] = n.at
	if n.kind != mappingKind {
		d.fail(path, fault{"must be a mapping", "write \"- name: \" and a name for the view"})
		return
	}
	var maps *node
	d.mapping(path, n, table{
		"name":       scalar(&v.Name, parseName),
		"manifests":  list(&v.Manifests, parseName),
		"layout":     scalar(&v.Layout, parseLayout),
		"map_files":  keep(&maps),
		"hash_files": scalar(&v.HashFiles, parseBool),
		"export":     scalar(&v.Export, parseExport),
	})
	if !d.isSet(path + ".name") {
		d.fail(path+".name", fault{"is missing", "write a name for the view, by which current/ shows it"})
	}
	d.checkMembers(v, path+".manifests", c)
	d.mapFiles(v, path+".map_files", maps)
	if v.Layout == layout.ByMap && maps == nil {
		d.fail(path+".layout", fault{"needs map_files", "name the map file of each manifest in map_files, or use layout: provider"})
	}
}

// checkMembers checks the manifests of a view. Without any, the view has all.
func (d *decoder) checkMembers(v *View, path string, c *Config) {
	if !d.isSet(path) || len(v.Manifests) == 0 && d.valid(path) {
		v.Manifests = c.Names()
		return
	}
	for i, name := range v.Manifests {
		at := index(path, i)
		if !d.isSet(at) { // one value instead of a list
			at = path
		}
		switch {
		case name == "": // it has a problem
		case !c.Has(name):
			d.fail(at, fault{"is not in manifests", "write the name of an entry of manifests, in the same case"})
		case slices.Contains(v.Manifests[:i], name):
			d.fail(at, fault{"is listed twice", "list each manifest once"})
		}
	}
}

// mapFiles decodes map_files, whose keys are the names of manifests.
func (d *decoder) mapFiles(v *View, path string, n *node) {
	if n == nil || n.null {
		return
	}
	if n.kind != mappingKind {
		d.fail(path, fault{"must be a mapping", "write {MANIFEST: PATH}"})
		return
	}
	if v.Layout != layout.ByMap && d.valid(path[:strings.LastIndexByte(path, '.')]+".layout") {
		d.fail(path, fault{"is only for layout: map", "add layout: map, or remove map_files"})
	}
	for i, f := range n.fields {
		m := MapFile{Manifest: f.key, file: d.file}
		at := index(path, i)
		d.at[at] = f.at
		same := func(other MapFile) bool { return other.Manifest == f.key }
		switch {
		case !slices.Contains(v.Manifests, f.key):
			d.fail(at, fault{"names a manifest that the view does not have", "use a name from the manifests of the view"})
		case slices.ContainsFunc(v.MapFiles, same):
			d.fail(at, fault{"has two maps for one manifest", "keep one of them"})
		}
		d.at[at] = f.value.at
		scalar(&m.Path, d.mapPath)(d, at, f.value)
		m.at = d.place(at)
		v.MapFiles = append(v.MapFiles, m)
	}
}

func (d *decoder) mapPath(text string) (string, *fault) {
	if text == "" {
		return "", &fault{"is empty", "write the path of a map file"}
	}
	return d.besideConfig(text)
}

// checkExports refuses exports that would change each other or the mirror. The paths are
// compared as written; symlinks are checked when the export is made.
func (d *decoder) checkExports(list []View, dataDir string) {
	for i, v := range list {
		path := index("views", i) + ".export"
		if v.Export == "" {
			continue
		}
		if d.valid("data_dir") && (within(v.Export, dataDir) || within(dataDir, v.Export)) {
			d.fail(path, fault{"is inside data_dir, or data_dir is inside it", "use a folder that is separate from data_dir"})
		}
		for j, other := range list[:i] {
			if other.Export != "" && (within(v.Export, other.Export) || within(other.Export, v.Export)) {
				d.fail(path, fault{"is, holds or is inside the export of " + index("views", j), "export each view to a folder of its own"})
			}
		}
	}
}

// within is true when path is dir or lies below it. Both are absolute and clean.
func within(path, dir string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(relative)
}

func parseLayout(text string) (layout.Layout, *fault) {
	switch of := layout.Layout(strings.ToLower(text)); of {
	case layout.Native, layout.Flat, layout.Provider, layout.ByMap:
		return of, nil
	}
	return "", &fault{"is not a layout", "use native, flat, provider or map"}
}

// parseExport accepts an absolute path that is not the root.
func parseExport(text string) (string, *fault) {
	path := filepath.Clean(text)
	if !filepath.IsAbs(path) || path == "/" {
		return "", &fault{"is not an absolute path of a folder", "use a path such as /srv/refdata"}
	}
	return path, nil
}
