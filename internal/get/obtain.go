package get

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"syncd/internal/disk/flock"
	"syncd/internal/disk/fsops"
	"syncd/internal/disk/space"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/verify"
)

// unfinishedName names the folder of an unfinished download after its content, so that
// calls for different files do not meet.
func unfinishedName(w wish) string { return ".syncd-get-" + w.expected.Hex()[:16] }

func (g *getter) obtain(ctx context.Context, w wish) (File, error) {
	name := unfinishedName(w)
	unfinished, err := g.openUnfinished(name, w)
	if err != nil {
		return File{}, err
	}
	defer unfinished.Close()
	lock, err := flock.Acquire(unfinished, lockName)
	if err != nil {
		return File{}, err
	}
	defer lock.Release() //nolint:errcheck // closing a file that only holds a process id
	proven, result, err := g.prove(ctx, w, unfinished)
	if err == nil {
		err = g.place(unfinished, proven.Name, w.name)
	}
	if err == nil || g.begun(w) == 0 {
		err = errors.Join(err, g.removeUnfinished(name, unfinished, lock))
	}
	return File{w.ref.String(), g.dir.Path(w.name), proven.Object.Size, proven.Object.ID, result}, err
}

// openUnfinished opens the folder of an unfinished download. One that others can write
// may be a trap, and so may one with other files, which would be removed at the end: who can
// write in the folder above can give its name to another folder of this user.
func (g *getter) openUnfinished(name string, w wish) (*fsops.Dir, error) {
	if _, err := g.dir.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		if err := g.dir.MakeDir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) { // no chmod through a planted link
			return nil, folderError(g.Folder, err)
		}
	}
	dir, err := g.dir.OpenDir(name)
	if err != nil {
		return nil, err
	}
	info, err := dir.Self().Stat()
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	if owner, _, ok := fsops.OwnerOf(info); ok && (owner != os.Geteuid() || info.Mode().Perm()&0o077 != 0) {
		return nil, errors.Join(refusal.Local(fmt.Sprintf("%s is not a folder that only this user can use: remove it", g.dir.Path(name))), dir.Close())
	}
	names, err := dir.Names(".")
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	for _, file := range names {
		if file != lockName && file != copyName && !strings.Contains(file, fetcher.Name(w.expected)) {
			return nil, errors.Join(refusal.Local(fmt.Sprintf("%s holds %q, which is no part of a download: move it away", g.dir.Path(name), file)), dir.Close())
		}
	}
	return dir, nil
}

// The files in a folder of an unfinished download, besides the download itself.
const (
	lockName = "lock"
	copyName = "copy" // of an object of the mirror
)

// prove copies the content from the mirror, or downloads it.
func (g *getter) prove(ctx context.Context, w wish, unfinished *fsops.Dir) (verify.Proven, Result, error) {
	if proven, err := g.copyObject(ctx, w, unfinished); err == nil {
		return proven, Copied, nil
	}
	if ctx.Err() != nil {
		return verify.Proven{}, "", context.Cause(ctx)
	}
	f := fetcher.New(g.Provider, unfinished, g.Fetcher)
	proven, err := f.Fetch(ctx, manifest.File{Reference: w.ref, Path: w.name, Expected: w.expected}, w.size, g.watch(w))
	return proven, Downloaded, err
}

// copyObject copies an object of the mirror, whose bytes prove themselves again. The owner of
// data_dir, who can be another user, could have put an endless file there.
func (g *getter) copyObject(ctx context.Context, w wish, unfinished *fsops.Dir) (verify.Proven, error) {
	id, found := g.object(w.expected)
	if !found {
		return verify.Proven{}, fs.ErrNotExist
	}
	from, err := g.Mirror.Objects.Open(id)
	if err != nil {
		return verify.Proven{}, err
	}
	defer from.Close()
	info, err := from.Stat()
	if err == nil && w.size >= 0 && info.Size() != w.size {
		err = errOtherSize
	}
	if err != nil {
		return verify.Proven{}, err
	}
	if err := unfinished.RemoveAll(copyName); err != nil {
		return verify.Proven{}, err
	}
	var object manifest.Object
	h, err := verify.Copy{From: from, Size: info.Size(), Into: unfinished, Name: copyName, Algorithm: w.expected.Algorithm}.Make(ctx)
	if err == nil {
		object, err = h.Check(w.expected)
	}
	if err != nil {
		unfinished.Discard(copyName) // the download needs the room
	}
	return verify.Proven{Name: copyName, Object: object}, err
}

var errOtherSize = errors.New("the object has another size than the file")

// object finds the object with a digest. A digest other than a SHA-256 is looked up in
// the served records.
func (g *getter) object(expected manifest.Digest) (manifest.ObjectID, bool) {
	if g.Mirror == nil {
		return manifest.ObjectID{}, false
	}
	if id, ok := expected.ObjectID(); ok {
		return id, true
	}
	for _, record := range g.Mirror.Current().Records {
		for _, f := range record.Files {
			if f.Expected == expected {
				return f.Object, true
			}
		}
	}
	return manifest.ObjectID{}, false
}

// place makes a proven file durable and gives it its name.
func (g *getter) place(unfinished *fsops.Dir, from, name string) error {
	if err := unfinished.Chmod(from, 0o644); err != nil {
		return err
	}
	if err := g.disk.SyncFiles(unfinished, []string{from}); err != nil {
		return err
	}
	move := fsops.MoveNew
	if g.Force {
		move = fsops.Move
	}
	err := move(unfinished, from, g.dir, name)
	if errors.Is(err, fs.ErrExist) {
		return refusal.Local(fmt.Sprintf("%s appeared meanwhile: --force replaces it", g.dir.Path(name)))
	}
	if err != nil {
		return err
	}
	return g.disk.SyncDir(g.dir, ".")
}

// watcher checks the space for a file that is larger than was known before, and ends one
// that has no end.
type watcher struct {
	*getter
	wish
	growth fetcher.Growth
}

func (g *getter) watch(w wish) *watcher {
	free := func() (space.Amount, error) { return space.Free(g.dir) }
	return &watcher{g, w, fetcher.Growth{Told: w.size, Expected: w.size, Free: free, MakeRoom: "make room, or name another folder with --output"}}
}

func (w *watcher) Announced(size int64) error {
	if size <= w.growth.Expected {
		return nil
	}
	w.growth.Expected = size
	free, err := space.Free(w.dir)
	if err != nil {
		return err
	}
	return w.refuse(space.OfContent(max(size-w.begun(w.wish), 0)), free)
}

func (w *watcher) Moved(_, done int64) error { return w.growth.Reached(done) }
func (*watcher) Received()                   {}
func (*watcher) Resumed(int64)               {}
func (*watcher) Mismatch(error)              {}
