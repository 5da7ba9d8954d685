package catalogue

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// directory is a source on disk: <root>/<manifest>/<release>/ with any tree of
// files, all of class Data. Each look-up reads it, so that a new directory is a
// new release at once. A file deeper in the tree is published under one name,
// with "~" for each slash. <root>/Product/<release>/ has products, which no
// manifest lists.
//
// The reference of a file does not name its manifest. When two manifests hold the
// same name in the same release, the first manifest's file is served.
type directory struct{ root string }

// products is the folder of the products.
const products = ClassProduct

func (d directory) manifests() []string {
	return slices.DeleteFunc(subdirectories(d.root), func(name string) bool { return name == products })
}

// folders returns the folders that can hold a file of a class.
func (d directory) folders(class string) []string {
	switch class {
	case ClassData:
		return d.manifests()
	case ClassProduct:
		return []string{products}
	}
	return nil
}

func (d directory) releases(manifest string) []string {
	name, ok := matchFold(d.manifests(), manifest)
	if !ok {
		return nil
	}
	return d.releasesIn(name)
}

func (d directory) releasesIn(folder string) []string {
	return subdirectories(filepath.Join(d.root, folder))
}

func (d directory) list(manifest, release string) (List, bool) {
	name, ok := matchFold(d.manifests(), manifest)
	if !ok {
		return List{}, false
	}
	dir, spelled, ok := d.releaseDir(name, release)
	if !ok {
		return List{}, false
	}
	l := List{Release: spelled}
	for _, name := range walkNames(dir) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		l.Items = append(l.Items, diskItem(ClassData, spelled, strings.ReplaceAll(name, "/", "~"), path))
	}
	slices.SortStableFunc(l.Items, func(a, b *Item) int { return strings.Compare(a.Name, b.Name) })
	l.Items = slices.CompactFunc(l.Items, func(a, b *Item) bool { return a.Name == b.Name })
	return l, true
}

func (d directory) fileReleases(f File) []string {
	var names []string
	for _, folder := range d.folders(f.Class) {
		for _, release := range d.releasesIn(folder) {
			if _, ok := d.fileOf(folder, release, f); ok {
				names = append(names, release)
			}
		}
	}
	return names
}

func (d directory) file(f File) (*Item, bool) {
	for _, folder := range d.folders(f.Class) {
		if it, ok := d.fileOf(folder, f.Release, f); ok {
			return it, true
		}
	}
	return nil, false
}

// fileOf finds a file in one release: by its exact path, otherwise by its listed name
// without regard to case.
func (d directory) fileOf(folder, release string, f File) (*Item, bool) {
	dir, spelled, ok := d.releaseDir(folder, release)
	if !ok || f.Tag != "" {
		return nil, false
	}
	if path, ok := locate(dir, f.Name); ok {
		return diskItem(f.Class, spelled, f.Name, path), true
	}
	for _, name := range walkNames(dir) {
		if flat := strings.ReplaceAll(name, "/", "~"); strings.EqualFold(flat, f.Name) {
			return diskItem(f.Class, spelled, flat, filepath.Join(dir, filepath.FromSlash(name))), true
		}
	}
	return nil, false
}

func diskItem(class, release, name, path string) *Item {
	return &Item{
		File:    File{Class: class, Release: release, Name: name, Content: OnDisk(path)},
		digests: new(digests),
	}
}

func (d directory) releaseDir(folder, release string) (dir, spelled string, ok bool) {
	spelled, ok = matchFold(d.releasesIn(folder), release)
	return filepath.Join(d.root, folder, spelled), spelled, ok
}

// matchFold finds a name without case. It prefers the name in the same spelling.
func matchFold(names []string, asked string) (string, bool) {
	if slices.Contains(names, asked) {
		return asked, true
	}
	i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, asked) })
	if i < 0 {
		return "", false
	}
	return names[i], true
}

// subdirectories lists the directories in dir and the links to directories. It
// leaves out hidden ones: other programs use them for unfinished copies.
func subdirectories(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // it may have been removed since the look-up began
	}
	var names []string
	for _, en := range entries {
		if strings.HasPrefix(en.Name(), ".") {
			continue
		}
		if en.IsDir() || en.Type()&fs.ModeSymlink != 0 && isDirectory(filepath.Join(dir, en.Name())) {
			names = append(names, en.Name())
		}
	}
	return names
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// walkNames lists all files below dir, hidden ones too, as paths with slashes.
// Links to files count as files. Links to directories are not followed.
func walkNames(dir string) []string {
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target // WalkDir does not enter a link
	}
	var names []string
	_ = filepath.WalkDir(dir, func(path string, en fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // a directory that cannot be read is not published
		}
		if en.Type().IsRegular() || en.Type()&fs.ModeSymlink != 0 && isRegular(path) {
			if rel, err := filepath.Rel(dir, path); err == nil {
				names = append(names, filepath.ToSlash(rel))
			}
		}
		return nil
	})
	return names
}

// locate finds the file that is published as name. A "~" stands for itself or for
// a slash; a file with the "~" in its name goes first. No part may lead upwards.
func locate(dir, name string) (string, bool) {
	if !isSegment(name) {
		return "", false
	}
	if path := filepath.Join(dir, name); isRegular(path) {
		return path, true
	}
	for i := range len(name) {
		if name[i] != '~' || !isSegment(name[:i]) {
			continue
		}
		sub := filepath.Join(dir, name[:i])
		if info, err := os.Lstat(sub); err != nil || !info.IsDir() {
			continue
		}
		if path, ok := locate(sub, name[i+1:]); ok {
			return path, true
		}
	}
	return "", false
}

func isSegment(name string) bool {
	return name != "." && filepath.IsLocal(name) && !strings.ContainsAny(name, "/\\\x00")
}
