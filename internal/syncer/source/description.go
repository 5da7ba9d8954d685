package source

import (
	"slices"
	"sync"

	"syncd/internal/clients/releases"
	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/record"
)

// Description is what the source says about the files of one release of a manifest, for
// other hosts that ask this one. Safe for concurrent use.
type Description struct {
	mu       sync.Mutex
	files    map[string]*manifest.Metadata // by path; of a file that the provider was asked about
	shared   map[string][]manifest.Member  // thousands of files have the same members
	text     int                           // bytes of members
	aliases  []manifest.Release
	summary  string // of the manifest, in ManifestList
	complete bool   // nothing is left to ask
}

// Forget drops everything. d may be nil.
func (d *Description) Forget() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files, d.shared, d.text, d.aliases, d.summary, d.complete = nil, nil, 0, nil, "", false
}

// note keeps what Metadata said of a file. It leaves out what is of another content: the
// provider may have published the file again between two questions.
func (d *Description) note(f manifest.File, meta releases.Metadata) {
	told := &manifest.Metadata{}
	if isOf(meta, f.Expected) {
		*told = meta.Details
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keepLocked(f.Path, told)
}

func (d *Description) keepLocked(path string, told *manifest.Metadata) {
	if d.files == nil {
		d.files, d.shared = map[string]*manifest.Metadata{}, map[string][]manifest.Member{}
	}
	told.Members = d.shareLocked(told.Members)
	d.files[path] = told
}

// take keeps what the record of a bucket, or of this host, has of a file.
func (d *Description) take(f record.File) {
	if f.Metadata == nil {
		return
	}
	told := *f.Metadata
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keepLocked(f.Path, &told)
}

// tell keeps what a generation says of the release, if it is about that.
func (d *Description) tell(m bucket.Manifest, isAbout, isComplete bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.complete = isComplete; isAbout {
		d.aliases, d.summary = m.Names(), m.Description
	}
}

// takeAll keeps everything that a record of the same files has.
func (d *Description) takeAll(r record.Record) {
	for _, f := range r.Files {
		d.take(f)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.aliases, d.summary, d.complete = r.Aliases, r.Description, r.Described
}

// isOf is true unless the metadata has another digest than expected.
func isOf(meta releases.Metadata, expected manifest.Digest) bool {
	return !slices.ContainsFunc([]manifest.Digest{meta.SHA256, meta.Details.SHA1, meta.Details.MD5}, func(digest manifest.Digest) bool {
		return digest.Algorithm == expected.Algorithm && digest != expected
	})
}

// shareLocked keeps equal members once, and no more text than a list of files may have.
func (d *Description) shareLocked(members []manifest.Member) []manifest.Member {
	key, size := "", 0
	for _, m := range members {
		key += m.Name + "\x00" + m.Value + "\x00"
		size += len(m.Name) + len(m.Value)
	}
	known, found := d.shared[key]
	switch {
	case found:
		return known
	case d.text+size > manifest.MaxText:
		return nil
	}
	d.text += size
	d.shared[key] = members
	return members
}

// reuse takes over what an earlier record has of the same files.
func (d *Description) reuse(files []manifest.File, earlier mirror.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files == nil {
		d.files, d.shared = map[string]*manifest.Metadata{}, map[string][]manifest.Member{}
	}
	for _, f := range files {
		then, found := earlier.File(f.Path)
		if found && then.Metadata != nil && then.Expected == f.Expected && then.Reference == f.Reference {
			d.files[f.Path] = then.Metadata
		}
	}
}

// lacking returns the files that the provider was not asked about.
func (d *Description) lacking(files []manifest.File) (left []manifest.File) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range files {
		if d.files[f.Path] == nil {
			left = append(left, f)
		}
	}
	return left
}

// Fill adds what is known to a record of the same files.
func (d *Description) Fill(record *mirror.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range record.Files {
		if told := d.files[record.Files[i].Path]; told != nil {
			record.Files[i].Metadata = told
		}
	}
	record.Described, record.Aliases, record.Description = d.complete, d.aliases, d.summary
}
