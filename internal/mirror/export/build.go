package export

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
	"syncd/internal/verify"
)

// method is how a file gets into the tree.
type method int

const (
	hardLink method = iota
	reflink
	fullCopy
)

// builder builds one tree in a temporary folder of the work folder.
type builder struct {
	*place
	source Source
	files  []record.TreeFile // of the source
	temp   string            // in work
	method method
	copies []string // files with bytes that are not durable
}

// addParents adds every directory above a file.
func addParents(dirs map[string]bool, file string) {
	for dir := path.Dir(file); !dirs[dir]; dir = path.Dir(dir) {
		dirs[dir] = true
	}
}

// build makes a complete, durable and marked tree in the work folder, and returns its
// name. Nothing of it is in place yet.
func (p *place) build(ctx context.Context, source Source) (tree string, err error) {
	b := &builder{place: p, source: source, files: source.Files(), temp: fsops.TempName("tree")}
	defer p.work.Discard(b.temp)
	if err := p.work.EnsureDir(b.temp, 0o700); err != nil {
		return "", err
	}
	if b.method, err = b.chooseMethod(); err != nil {
		return "", err
	}
	dirs := b.dirs()
	if err := b.reserve(len(dirs)); err != nil {
		return "", err
	}
	if err := b.fill(ctx, dirs); err != nil {
		return "", err
	}
	if err := b.mark(); err != nil {
		return "", err
	}
	tree = treeName()
	if err := fsops.MoveNew(p.work, b.temp, p.work, tree); err != nil {
		return "", err
	}
	return tree, p.disk.SyncDir(p.work, ".")
}

// dirs are the directories of the tree, parents first.
func (b *builder) dirs() []string {
	dirs := map[string]bool{".": true}
	for _, f := range b.files {
		addParents(dirs, f.Path)
	}
	return slices.Sorted(maps.Keys(dirs))
}

// fill makes the directories and files. Directories get their permissions last: before,
// only syncd may look in.
func (b *builder) fill(ctx context.Context, dirs []string) error {
	for _, dir := range dirs[1:] {
		if err := b.work.EnsureDir(filepath.Join(b.temp, dir), 0o700); err != nil {
			return err
		}
	}
	if err := b.addFiles(ctx); err != nil {
		return err
	}
	for i, dir := range dirs {
		dirs[i] = filepath.Join(b.temp, dir)
		if err := b.shareDir(dir, dirs[i]); err != nil {
			return err
		}
	}
	if err := b.disk.SyncFiles(b.work, b.copies); err != nil {
		return err
	}
	slices.Reverse(dirs)
	return b.disk.SyncDirs(b.work, dirs)
}

// shareDir gives a directory the group and permissions of the one in the source.
func (b *builder) shareDir(from, to string) error {
	info, err := b.source.Dir.Lstat(from)
	if err != nil {
		return err
	}
	if _, group, ok := fsops.OwnerOf(info); ok {
		if err := b.work.Chgrp(to, group); err != nil {
			return err
		}
	}
	return b.work.Chmod(to, info.Mode().Perm())
}

func (b *builder) addFiles(ctx context.Context) error {
	var from, to *os.File // the directories of the file before, which most files share
	defer func() { closeAll(from, to) }()
	last := ""
	for _, f := range b.files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		dir, name := path.Split(f.Path)
		if from == nil || dir != last {
			closeAll(from, to)
			var err error
			if from, to, err = b.openBoth(dir); err != nil {
				return err
			}
			last = dir
		}
		if err := b.add(ctx, from, to, name, f); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) openBoth(dir string) (from, to *os.File, err error) {
	if from, err = b.source.Dir.Open(filepath.Clean(dir)); err != nil {
		return nil, nil, err
	}
	to, err = b.work.Open(filepath.Join(b.temp, dir))
	return from, to, err
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

func (b *builder) add(ctx context.Context, from, to *os.File, name string, f record.TreeFile) error {
	if b.method == hardLink {
		err := fsops.HardLink(from, name, to, name)
		if err == nil || !fsops.IsNoHardLink(err) {
			return err
		}
	}
	// One object has reached the limit of its links, or no file can be linked.
	b.copies = append(b.copies, filepath.Join(b.temp, f.Path))
	return b.copy(ctx, f, b.method != fullCopy)
}

// copy makes a copy of a file with its group and permissions, by reflink if that is
// possible. It proves the bytes that it copies.
func (b *builder) copy(ctx context.Context, f record.TreeFile, mayClone bool) error {
	src, err := b.source.Dir.OpenRegular(f.Path)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := b.work.OpenFile(filepath.Join(b.temp, f.Path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer dst.Close()
	if !mayClone || fsops.Clone(src, dst) != nil {
		if err := copyProven(ctx, src, dst, f); err != nil {
			return err
		}
	}
	info, err := src.Stat()
	if err != nil {
		return err
	}
	if _, group, ok := fsops.OwnerOf(info); ok {
		if err := fsops.Fchgrp(dst, group); err != nil {
			return err
		}
	}
	if err := fsops.Fchmod(dst, info.Mode().Perm()); err != nil {
		return err
	}
	return dst.Close()
}

func copyProven(ctx context.Context, src, dst *os.File, f record.TreeFile) error {
	return fsops.Step("write", dst.Name(), func() error {
		h, err := verify.Reader(ctx, io.TeeReader(src, dst), manifest.SHA256)
		if err != nil {
			return err
		}
		_, err = h.Check(f.Object.Digest())
		if _, ok := errors.AsType[*verify.Mismatch](err); ok {
			return &damagedError{path: src.Name(), err: err}
		}
		return err
	})
}

// damagedError says that a file of the source has other bytes than its digest promises.
type damagedError struct {
	path string
	err  error
}

func (e *damagedError) Error() string {
	return e.path + " is damaged: " + e.err.Error() + ": run `syncd verify --repair`"
}

func (e *damagedError) Unwrap() error { return e.err }

// mark lists the finished tree and marks it. The tree is still temporary.
func (b *builder) mark() error {
	tree, err := b.work.OpenDir(b.temp)
	if err != nil {
		return err
	}
	defer tree.Close()
	root, err := tree.Info(".")
	if err != nil {
		return err
	}
	list := make([]markedFile, 0, len(b.files))
	for _, f := range b.files {
		info, err := tree.Info(f.Path)
		if err != nil {
			return err
		}
		if !info.IsRegular() || info.Size() != f.Size {
			return &damagedError{path: b.source.Dir.Path(f.Path), err: fs.ErrInvalid}
		}
		list = append(list, markedFile{Path: f.Path, Size: info.Size(), ModTime: info.ModTime(), Inode: info.Inode(), Object: f.Object})
	}
	if err := b.saveList(root.Inode(), list); err != nil {
		return err
	}
	return b.saveMark(root.Inode(), Mark{Generation: b.source.Generation, Fingerprint: b.source.Fingerprint, Linked: len(b.copies) == 0})
}
