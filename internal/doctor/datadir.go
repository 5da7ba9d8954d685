//go:build linux

package doctor

import (
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
func (e *examination) checkDataDir(context.Context) (found []Finding) {
	dir := e.cfg.DataDir
	err := e.worker.Do(func() error { return datadir.Check(dir) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		found = e.checkMissing(dir)
	case err != nil:
		found = []Finding{e.refused(dir, err)}
	default:
		found = e.checkOwn(dir)
	}
	for _, t := range engine.Exports(e.cfg) {
		found = append(found, e.checkExport(t)...)
	}
	return orGood(found, "user %s may work in %s", e.worker.Name, dir)
}

// refused explains why the daemon would refuse the folder.
func (e *examination) refused(dir string, err error) Finding {
	var path *fs.PathError
	if errors.As(err, &path) {
		return e.forbidden("data_dir", path.Path, path.Err, e.giveStep())
	}
	return failing(fmt.Errorf("data_dir: %w", err), e.giveStep())
}

// forbidden explains an error of a path.
func (e *examination) forbidden(what, path string, err error, next string) Finding {
	if errors.Is(err, syscall.EROFS) {
		next = "mount that file system for writing"
	}
	return failure(next, "%s: user %s cannot work in %s: %v", what, e.worker.Name, path, err)
}

// giveStep gives the whole data_dir to the daemon's user, and nothing else: neither a
// file in it, whose name may come from another user, nor a folder of other programs.
func (e *examination) giveStep() string {
	if !datadir.IsOurs(e.cfg.DataDir) {
		return fmt.Sprintf("name a new folder as data_dir, and make it with `install -d -o %s`", e.worker.Name)
	}
	return fmt.Sprintf("run `chown -R %s: %s`, and let the user pass through the folders above it", e.worker.Name, word(e.cfg.DataDir))
}

// checkMissing asks whether the daemon could make the folder.
func (e *examination) checkMissing(dir string) []Finding {
	if e.unit != nil && e.unit.Makes(dir) {
		return []Finding{good("systemd makes %s at the first start", dir)}
	}
	parent := existingParent(dir)
	if err := e.worker.Do(func() error { return unix.Access(parent, unix.W_OK|unix.X_OK) }); err != nil {
		return []Finding{failure(fmt.Sprintf("run `install -d -o %s %s`", e.worker.Name, word(dir)), "data_dir %s does not exist, and user %s cannot make it in %s: %v", dir, e.worker.Name, parent, err)}
	}
	return []Finding{good("data_dir %s does not exist yet; user %s can make it", dir, e.worker.Name)}
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
func (e *examination) checkOwn(dir string) []Finding {
	paths := []string{dir}
	for _, folder := range datadir.Folders() {
		paths = append(paths, filepath.Join(dir, folder.Name))
	}
	states, _ := filepath.Glob(filepath.Join(dir, "state", "*")) // the pattern is valid
	for _, path := range append(paths, states...) {
		err := e.worker.Do(func() error { return unix.Access(path, unix.W_OK) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return []Finding{e.forbidden("data_dir", path, err, e.giveStep())}
		}
	}
	return nil
}

// checkExport looks at an exported folder and the one above it, in which it is exchanged.
func (e *examination) checkExport(t export.Target) []Finding {
	parent := filepath.Dir(t.Path)
	if err := e.worker.Do(func() error { return unix.Access(parent, unix.W_OK|unix.X_OK) }); err != nil {
		next := fmt.Sprintf("make a folder of that user, such as `install -d -o %s /srv/syncd`, and export below it", e.worker.Name)
		return []Finding{e.forbidden("export of view "+t.View, parent, err, next)}
	}
	err := e.worker.Do(func() error { _, err := export.Look(t); return err })
	if err != nil {
		return []Finding{failing(fmt.Errorf("export of view %s: %w", t.View, err), "run `syncd explain`")}
	}
	return nil
}
