package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"syncd/internal/disk/fsops"
	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// File is a file that may be a volume. Its name is for errors.
type File struct {
	Name string
	Size int64
	io.ReaderAt
}

// OpenFiles opens regular files, and waits for no FIFO. close closes them.
func OpenFiles(paths []string) (files []File, closeAll func(), err error) {
	var opened []io.Closer
	closeAll = func() {
		for _, f := range opened {
			f.Close()
		}
	}
	for _, path := range paths {
		f, info, err := fsops.OpenRegular(path)
		if err != nil {
			closeAll()
			return nil, func() {}, openError(path, err)
		}
		opened = append(opened, f)
		files = append(files, File{path, info.Size(), f})
	}
	return files, closeAll, nil
}

// openError names the next step.
func openError(path string, err error) error {
	switch {
	case errors.Is(err, fsops.ErrNotRegular):
		return fmt.Errorf("%s is not a regular file: name the files of a bundle", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: the user of syncd must be able to read it", err)
	}
	return err
}

// Bundle is a bundle whose volumes are all there. Safe for concurrent use.
type Bundle struct {
	ID      manifest.ObjectID
	Since   manifest.ObjectID // of the receipt whose contents are left out; zero for none
	Volumes []File            // in order

	Current    bucket.Current
	Generation bucket.Generation

	current  manifest.ObjectID // digest of the text of current.json
	text     []byte            // of current.json
	texts    map[string]located
	contents []content // sorted by ID
	patches  int       // in the place of contents
	bytes    int64     // of the contents and patches
}

// located is where the bytes of a member lie, part by part.
type located []part

type part struct {
	volume       int
	offset, size int64
}

func (l located) size() (bytes int64) {
	for _, p := range l {
		bytes += p.size
	}
	return bytes
}

// content is where a content lies.
type content struct {
	id    manifest.ObjectID
	first part
	rest  located // parts in further volumes
}

// Reading is how far Open reads.
type Reading bool

// Open reads the texts and where contents lie, or also all contents.
const (
	Texts Reading = false
	Whole Reading = true
)

// Open checks the volumes of a bundle, which come in any order, and finds its members. With
// Whole it proves each byte. Its errors name the file, and are refusals.
func Open(ctx context.Context, files []File, how Reading) (*Bundle, error) {
	heads, err := readHeads(files)
	if err != nil {
		return nil, err
	}
	b := &Bundle{ID: heads[0].ID, Since: heads[0].Since, texts: map[string]located{}}
	for _, h := range heads {
		b.Volumes = append(b.Volumes, h.file)
	}
	s := &scan{bundle: b, ctx: ctx, how: how, identity: newIdentity(heads[0].Limit, heads[0].Since), number: heads[0].Number, patches: map[string]bucket.Patch{}}
	for i, h := range heads {
		if err := s.volume(i); err != nil {
			return nil, refuse(h.file, err)
		}
	}
	if err := s.end(); err != nil {
		return nil, refuse(heads[len(heads)-1].file, err)
	}
	return b, nil
}

// refuse returns the error of a volume.
func refuse(f File, err error) error {
	reason := cmp.Or(refusal.ReasonOf(err), refusal.BadShape)
	return refusal.New(reason, "bundle %s: %w", f.Name, err)
}

// volumeHead is the head of a file.
type volumeHead struct {
	head
	file File
}

// readHeads sorts files by their number. They must be all volumes of one bundle.
func readHeads(files []File) ([]volumeHead, error) {
	heads := make([]volumeHead, 0, len(files))
	for _, f := range files {
		h, err := readHead(f)
		if err != nil {
			return nil, refuse(f, err)
		}
		heads = append(heads, volumeHead{h, f})
	}
	if len(heads) == 0 {
		return nil, errors.New("no file of a bundle was given")
	}
	first := heads[0]
	slices.SortStableFunc(heads, func(a, b volumeHead) int { return a.Volume - b.Volume })
	for i, h := range heads {
		switch before := heads[max(0, i-1)]; {
		case h.ID != first.ID || h.Volumes != first.Volumes || h.Limit != first.Limit || h.Since != first.Since || h.Number != first.Number:
			return nil, refuse(h.file, fmt.Errorf("it belongs to another bundle than %s", first.file.Name))
		case i > 0 && h.Volume == before.Volume:
			return nil, refuse(h.file, fmt.Errorf("it is volume %d of %d, as is %s", h.Volume, h.Volumes, before.file.Name))
		}
	}
	for i := range first.Volumes {
		if i >= len(heads) || heads[i].Volume != i+1 {
			return nil, refuse(first.file, fmt.Errorf("%w: volume %d of %d, such as %s", ErrMissing, i+1, first.Volumes, VolumeName(stem(first.file.Name), i+1)))
		}
	}
	return heads, nil
}

// ErrMissing says that not all volumes of a bundle are there.
var ErrMissing = errors.New("a volume is missing")

// ErrCut says that a volume is shorter than it was written: its copy did not end.
var ErrCut = errors.New("it was cut: copy it again")

// stem is the name of a volume without its number.
func stem(name string) string {
	if whole, _, ok := cutPart(name); ok {
		return whole
	}
	return name
}

// readHead reads and checks how a file begins, and its size.
func readHead(f File) (head, error) {
	data := make([]byte, headSize)
	if f.Size < headSize {
		return head{}, fmt.Errorf("%w: it has %d bytes", errNoBundle, f.Size)
	}
	if err := readFull(f, data, 0); err != nil {
		return head{}, err
	}
	h, err := parseHead(data)
	switch {
	case err != nil:
		return head{}, err
	case f.Size < h.Bytes:
		return head{}, fmt.Errorf("%w: it has %d of %d bytes", ErrCut, f.Size, h.Bytes)
	case f.Size > h.Bytes:
		return head{}, fmt.Errorf("it has %d bytes behind its end", f.Size-h.Bytes)
	}
	return h, nil
}

// Volume says which part of which bundle a file is.
type Volume struct {
	ID         manifest.ObjectID // of the bundle
	Generation int
	Number     int // from 1 to Volumes
	Volumes    int
}

// Look reads how a file begins, and its size. An error says that it is no volume, or a part of
// one.
func Look(path string) (Volume, error) {
	files, closeFile, err := OpenFiles([]string{path})
	if err != nil {
		return Volume{}, err
	}
	defer closeFile()
	h, err := readHead(files[0])
	if err != nil {
		return Volume{}, err
	}
	return Volume{h.ID, h.Number, h.Volume, h.Volumes}, nil
}
