package emulator

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// directory is the shelf of Config.Root: <manifest>/<release>/ and below any
// tree of files, all of class Data. It is read at each request, so that a new
// directory is a new release at once. A file deeper in the tree is published
// under one name, with "~" for each slash.
//
// The wire does not name the manifest of a file: when two manifests hold the
// same name in the same release, downloads give the first manifest's.
type directory struct{ root string }

func (d directory) manifests() []string { return subdirectories(d.root) }

func (d directory) releases(manifest string) []string {
	dir, ok := d.manifestDir(manifest)
	if !ok {
		return nil
	}
	return subdirectories(dir)
}

func (d directory) list(manifest, release string) (releaseList, bool) {
	dir, spelled, ok := d.releaseDir(manifest, release)
	if !ok {
		return releaseList{}, false
	}
	l := releaseList{release: spelled}
	for _, name := range walkNames(dir) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		l.items = append(l.items, diskItem(spelled, strings.ReplaceAll(name, "/", "~"), path))
	}
	slices.SortStableFunc(l.items, func(a, b *item) int { return strings.Compare(a.Name, b.Name) })
	l.items = slices.CompactFunc(l.items, func(a, b *item) bool { return a.Name == b.Name })
	return l, true
}

func (d directory) fileReleases(f File) []string {
	var names []string
	for _, manifest := range d.manifests() {
		for _, release := range d.releases(manifest) {
			if _, ok := d.fileOf(manifest, release, f); ok {
				names = append(names, release)
			}
		}
	}
	return names
}

func (d directory) file(f File) (*item, bool) {
	for _, manifest := range d.manifests() {
		if it, ok := d.fileOf(manifest, f.Release, f); ok {
			return it, true
		}
	}
	return nil, false
}

// fileOf finds a file in one release: by its path, and when nothing is there,
// without case in the list.
func (d directory) fileOf(manifest, release string, f File) (*item, bool) {
	dir, spelled, ok := d.releaseDir(manifest, release)
	if !ok || f.Class != ClassData {
		return nil, false
	}
	if path, ok := locate(dir, f.Name); ok {
		return diskItem(spelled, f.Name, path), true
	}
	for _, name := range walkNames(dir) {
		if flat := strings.ReplaceAll(name, "/", "~"); strings.EqualFold(flat, f.Name) {
			return diskItem(spelled, flat, filepath.Join(dir, filepath.FromSlash(name))), true
		}
	}
	return nil, false
}

func diskItem(release, name, path string) *item {
	return &item{
		File:    File{Class: ClassData, Release: release, Name: name, Content: OnDisk(path)},
		digests: new(digests),
	}
}

func (d directory) manifestDir(manifest string) (string, bool) {
	name, ok := matchFold(subdirectories(d.root), manifest)
	return filepath.Join(d.root, name), ok
}

func (d directory) releaseDir(manifest, release string) (dir, spelled string, ok bool) {
	parent, ok := d.manifestDir(manifest)
	if !ok {
		return "", "", false
	}
	spelled, ok = matchFold(subdirectories(parent), release)
	return filepath.Join(parent, spelled), spelled, ok
}

// matchFold prefers the name that is spelled like the one asked for.
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

// subdirectories lists the directories in dir, and links to such, without the
// hidden ones: those are somebody's temporary files.
func subdirectories(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // being removed while we look is as good as not there
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

// walkNames lists all files below dir, hidden ones too, by their slash paths.
// Links to files count as files, links to directories are not followed.
func walkNames(dir string) []string {
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target // WalkDir does not enter a link
	}
	var names []string
	_ = filepath.WalkDir(dir, func(path string, en fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read is not published
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

// locate finds the file that was published as name. A "~" in it is itself or a
// slash; what is on the disk decides, itself first. No part may lead upwards.
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
