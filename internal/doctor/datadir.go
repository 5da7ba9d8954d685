//go:build linux

package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"syncd/internal/disk/datadir"
	"syncd/internal/engine"
	"syncd/internal/mirror/export"
)

// checkDataDir looks at data_dir and the exported folders as the daemon's user.
func (d *disk) checkDataDir(context.Context) (found []Finding) {
	dir := d.cfg.DataDir
	err := d.worker.Do(func() error { return datadir.Check(dir) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		found = d.checkMissing(dir)
	case err != nil:
		found = []Finding{d.refused(dir, err)}
	default:
		found = d.checkOwn(dir)
	}
	for _, t := range engine.Exports(d.cfg) {
		found = append(found, d.checkExport(t)...)
	}
	return orGood(found, "user %s may work in %s", d.worker.Name, dir)
}

// refused explains why the daemon would refuse the folder.
func (d *disk) refused(dir string, err error) Finding {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return d.forbidden("data_dir", path.Path, path.Err, d.giveStep())
	}
	return failing(fmt.Errorf("data_dir: %w", err), d.giveStep())
}

// forbidden explains an error of a path.
func (d *disk) forbidden(what, path string, err error, next string) Finding {
	if errors.Is(err, syscall.EROFS) {
		next = "mount that file system for writing; if the kernel made it read-only after an error (`dmesg` tells), let `fsck` check it first, and run `syncd verify` afterwards"
	}
	return failure(next, "%s: user %s cannot work in %s: %v", what, d.worker.Name, path, err)
}

// giveStep gives the whole data_dir to the daemon's user, and nothing else: neither a
// file in it, whose name may come from another user, nor a folder of other programs.
func (d *disk) giveStep() string {
	if !datadir.IsOurs(d.cfg.DataDir) {
		return fmt.Sprintf("name a new folder as data_dir, and make it with `install -d -o %s`", d.worker.Name)
	}
	return fmt.Sprintf("run `chown -R %s: %s`, and let the user pass through the folders above it", d.worker.Name, word(d.cfg.DataDir))
}

// checkMissing asks whether the daemon could make the folder.
func (d *disk) checkMissing(dir string) []Finding {
	if d.unit != nil && d.unit.Makes(dir) {
		return []Finding{good("systemd makes %s at the first start", dir)}
	}
	if link := brokenLink(dir); link != "" {
		return []Finding{failure("mount the file system that it leads to, or make the folder", "data_dir %s: %s is a symlink that leads to nothing", dir, link)}
	}
	parent := existingParent(dir)
	err := d.worker.Do(func() error { return unix.Access(parent, unix.W_OK|unix.X_OK) })
	if errors.Is(err, syscall.EROFS) {
		return []Finding{d.forbidden("data_dir", parent, err, "")}
	}
	if err != nil {
		return []Finding{failure(fmt.Sprintf("run `install -d -o %s %s`", d.worker.Name, word(dir)), "data_dir %s does not exist, and user %s cannot make it in %s: %v", dir, d.worker.Name, parent, err)}
	}
	return []Finding{good("data_dir %s does not exist yet; user %s can make it", dir, d.worker.Name)}
}

// brokenLink is the symlink on the way to a missing folder that leads to nothing, "" for none.
func brokenLink(path string) string {
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		if _, err := os.Stat(path); err == nil {
			return ""
		}
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	return ""
}

func existingParent(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// checkOwn tries to write in every folder of a data directory, and in the files of its
// state: a single sync as another user leaves some that the daemon cannot use.
func (d *disk) checkOwn(dir string) []Finding {
	paths := []string{dir}
	for _, folder := range datadir.Folders() {
		paths = append(paths, filepath.Join(dir, folder.Name))
	}
	states, _ := filepath.Glob(filepath.Join(dir, "state", "*")) // the pattern is valid
	for _, path := range append(paths, states...) {
		err := d.worker.Do(func() error { return unix.Access(path, unix.W_OK) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return []Finding{d.forbidden("data_dir", path, err, d.giveStep())}
		}
	}
	return nil
}

// checkExport looks at an exported folder and the one above it, in which it is exchanged.
func (d *disk) checkExport(t export.Target) []Finding {
	parent := existingParent(filepath.Dir(t.Path)) // an export makes the folders above it
	if err := d.worker.Do(func() error { return unix.Access(parent, unix.W_OK|unix.X_OK) }); err != nil {
		next := fmt.Sprintf("make a folder of that user, such as `install -d -o %s /srv/syncd`, and export below it", d.worker.Name)
		return []Finding{d.forbidden("export of view "+t.View, parent, err, next)}
	}
	err := d.worker.Do(func() error {
		_, err := export.Look(t)
		return cmp.Or(err, export.CheckAbove(t))
	})
	if err != nil {
		return []Finding{failing(fmt.Errorf("export of view %s: %w", t.View, err), "run `syncd explain`")}
	}
	return nil
}
