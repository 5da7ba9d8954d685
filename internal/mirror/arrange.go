package mirror

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"syncd/internal/manifest/layout"
	"syncd/internal/mirror/record"
)

// ViewSpec is a view as the configuration wants it.
type ViewSpec struct {
	layout.View
	Access Access
}

// Definition identifies everything that decides what the view of given revisions looks
// like.
func (w ViewSpec) Definition() string { return w.Fingerprint() + " " + w.Access.String() }

// Keeping adds the manifests that the served view shows and that left the configuration:
// they stay in it for as long as they are served. They give way to files that need their
// places, such as those of a manifest with another name.
func (w ViewSpec) Keeping(served View, records map[string]Record, isLeft func(name string) bool) ViewSpec {
	kept := w
	for _, name := range slices.Sorted(maps.Keys(served.Revisions)) {
		if _, found := records[name]; found && isLeft(name) && !slices.Contains(w.Manifests, name) {
			kept.Manifests = append(slices.Clip(kept.Manifests), name)
		}
	}
	if len(kept.Manifests) == len(w.Manifests) || kept.Matches(served, records) {
		return kept
	}
	if _, _, err := kept.Arrange(records, ""); err != nil {
		return w
	}
	return kept
}

// Missing lists the manifests of the view without a record.
func (w ViewSpec) Missing(records map[string]Record) (missing []string) {
	for _, name := range w.Manifests {
		if _, found := records[name]; !found {
			missing = append(missing, name)
		}
	}
	return missing
}

// Matches is true if the view of the records is the served one.
func (w ViewSpec) Matches(served View, records map[string]Record) bool {
	return served.Definition == w.Definition() && maps.Equal(served.Revisions, w.revisions(records))
}

func (w ViewSpec) revisions(records map[string]Record) map[string]string {
	ids := map[string]string{}
	for _, name := range w.Manifests {
		if r, found := records[name]; found {
			ids[name] = r.ID()
		}
	}
	return ids
}

// Arrange makes the view of the records, and returns the references of the files that no
// map file places although one should. The error is that of layout.View.Arrange.
func (w ViewSpec) Arrange(records map[string]Record, version string) (v View, unmapped []string, err error) {
	var files []layout.File
	var from []File
	for _, name := range w.Manifests {
		for _, f := range records[name].Files {
			file, err := f.InView(name)
			if err != nil {
				return View{}, nil, err
			}
			files, from = append(files, file), append(from, f)
		}
	}
	tree, err := w.View.Arrange(files)
	if err != nil {
		return View{}, nil, err
	}
	v = View{
		Name: w.Name, Layout: string(w.Layout), Definition: w.Definition(), HashFiles: w.HashFiles, Unmapped: len(tree.Unmapped),
		PublishedAt: time.Now().UTC(), Version: version, Revisions: w.revisions(records),
	}
	for i, path := range tree.Paths {
		if path == "" {
			continue
		}
		v.Files = append(v.Files, ViewFile{Path: path, Manifest: files[i].Manifest, From: from[i].Path, Size: from[i].Size, Object: from[i].Object})
		v.Bytes += from[i].Size
	}
	slices.SortFunc(v.Files, func(a, b ViewFile) int { return cmp.Compare(a.Path, b.Path) })
	v.Fingerprint = record.ViewFingerprint(v.Files, v.HashFiles, w.Access.String())
	for _, i := range tree.Unmapped {
		unmapped = append(unmapped, from[i].Reference.String())
	}
	return v, unmapped, nil
}
