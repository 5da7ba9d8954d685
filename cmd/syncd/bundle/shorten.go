package bundle

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"syncd/internal/disk/directio"
	"syncd/internal/disk/fsops"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/bundle"
	"syncd/internal/downstream/patch"
	"syncd/internal/downstream/patches"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/record"
	"syncd/internal/verify"
)

// shortest is the share of a content that a patch may have in its place.
const shortest = 0.6

// shorter makes the patches of a bundle. Their sizes have to be known before its first byte is
// written, so that they lie in a file until then.
type shorter struct {
	mirror *mirror.Mirror
	since  bundle.Receipt
	file   *os.File // without a name
	used   int64    // bytes of it

	made map[manifest.ObjectID]made // by the content that a patch makes
}

// made is a patch of the bundle.
type made struct {
	bucket.Patch
	at int64 // in the file
}

// newShorter keeps patches in a folder while the bundle is written.
func newShorter(m *mirror.Mirror, since bundle.Receipt, folder string) (*shorter, error) {
	file, err := os.CreateTemp(folder, ".tmp-patches-*")
	if err != nil {
		return nil, fmt.Errorf("a file for patches: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil { // so that no kill leaves it
		file.Close()
		return nil, err
	}
	return &shorter{mirror: m, since: since, file: file, made: map[manifest.ObjectID]made{}}, nil
}

func (s *shorter) close() { s.file.Close() }

// earlier are the contents that the far side has of a manifest, by their path. Those of newer
// revisions count first.
func (s *shorter) earlier(r record.Record) map[string]record.File {
	had := map[string]record.File{}
	if s.since.Len() == 0 {
		return had
	}
	ids := s.mirror.Records.RevisionIDs(r.Manifest)
	slices.Sort(ids)
	for _, id := range slices.Backward(ids) {
		before, err := s.mirror.Records.Revision(r.Manifest, id)
		if err != nil || before.ID() == r.ID() {
			continue
		}
		for _, f := range before.Files {
			if _, known := had[f.Path]; !known && f.Size > 0 && s.since.Has(f.Object) {
				had[f.Path] = f
			}
		}
	}
	return had
}

// shorten returns the patch that makes a content: from the one that the far side has under its
// path, or from nothing, which compresses it. It is false if neither is much shorter.
func (s *shorter) shorten(ctx context.Context, f, before record.File) (bundle.Member, bool, error) {
	if f.Size < patches.Smallest || len(s.made) == bucket.MaxPatches {
		return bundle.Member{}, false, nil
	}
	for _, from := range []record.File{before, {Object: bucket.Empty}} {
		if from.Object.IsZero() || from.Object == f.Object {
			continue
		}
		m, err := s.make(ctx, from, f)
		if err == nil || !errors.Is(err, patches.ErrUseless) && !errors.Is(err, fs.ErrNotExist) {
			return m, err == nil, err
		}
	}
	return bundle.Member{}, false, nil
}

func (s *shorter) make(ctx context.Context, before, after record.File) (bundle.Member, error) {
	was, err := s.open(before)
	if err != nil {
		return bundle.Member{}, err
	}
	defer was.file.Close()
	is, err := s.open(after)
	if err != nil {
		return bundle.Member{}, err
	}
	defer is.file.Close()
	at := s.used
	size, err := patches.Make(ctx, was.Part, is.Part, int64(shortest*float64(after.Size)), io.NewOffsetWriter(s.file, at))
	if fsops.IsFull(err) {
		err = fmt.Errorf("no room for patches beside the bundle: %w", err)
	}
	if err == nil {
		err = errors.Join(was.prove(ctx), is.prove(ctx))
	}
	if err != nil {
		return bundle.Member{}, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(s.file, at, size)), nil }
	text, _ := open()
	sum := sha256.New()
	if _, err := io.Copy(sum, text); err != nil {
		return bundle.Member{}, err
	}
	p := made{bucket.Patch{Old: before.Object, New: after.Object, Size: size, SHA256: manifest.ObjectID(sum.Sum(nil))}, at}
	s.used, s.made[after.Object] = at+size, p
	return bundle.Member{Name: p.Name(), Size: size, SHA256: p.SHA256, Open: open}, nil
}

// content is a content with its open file, which is nil for the empty one.
type content struct {
	patches.Part
	file *os.File
}

// open opens the object of a content, which the caller must close. Root does not become the owner
// of data_dir beside a daemon: its owner could have put a link to a file of root there, so the
// object is named by its descriptor and not by its path.
func (s *shorter) open(f record.File) (c content, err error) {
	c.Identity = patch.Identity{Size: f.Size, Digest: f.Object}
	if f.Object == bucket.Empty {
		return c, nil
	}
	if c.file, err = s.mirror.Objects.Open(f.Object); err == nil {
		c.File = fmt.Sprintf("/dev/fd/%d", c.file.Fd())
	}
	return c, err
}

// prove reads the file that a patch was made from. Others read the bundle, so another content,
// such as that of a file to which the owner of data_dir made a hard link, must not get into it.
func (c content) prove(ctx context.Context) error {
	if c.file == nil {
		return nil
	}
	most := c.Size/directio.Block*directio.Block + directio.Block // a file that grew has another digest
	h, err := verify.Reader(ctx, io.LimitReader(directio.NewReader(c.file), most), manifest.SHA256)
	if err == nil {
		_, err = h.Check(c.Digest.Digest())
	}
	if err != nil {
		return fmt.Errorf("%s: %w: run `syncd verify`, then export again", c.file.Name(), err)
	}
	return nil
}

// list is the list of the patches for a record, false if there is none.
func (s *shorter) list(m bucket.Manifest, r record.Record) (bundle.Member, bool) {
	var list []bucket.Patch
	for _, f := range r.Files {
		if p, found := s.made[f.Object]; found {
			list = append(list, p.Patch)
		}
	}
	text := bucket.NewPatchList(list, func(id manifest.ObjectID) int64 { return s.made[id].Size }).Text()
	return textOf(bucket.PatchListName(m), text), len(list) > 0
}

// besides is the folder for what is made while a bundle is written to a target.
func besides(target string) string {
	if target == "-" {
		return os.TempDir()
	}
	if info, err := os.Stat(target); err == nil && info.IsDir() {
		return target
	}
	return filepath.Dir(target)
}
