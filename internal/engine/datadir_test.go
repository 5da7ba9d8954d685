package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/flock"
	"syncd/internal/engine/operation"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// listing names everything below a folder, with its mode, size and time.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	lines := []string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			lines = append(lines, path+" "+info.Mode().String()+" "+info.ModTime().String())
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return lines
}

// vanishings are what can come in the place of a data directory that was moved away.
func vanishings() map[string]func(away, dir string) error {
	return map[string]func(away, dir string) error{
		"nothing":         func(_, _ string) error { return nil },
		"an empty folder": func(_, dir string) error { return os.Mkdir(dir, 0o755) },
		"a copy":          func(away, dir string) error { return exec.Command("cp", "-a", away, dir).Run() },
		"a file":          func(_, dir string) error { return os.WriteFile(dir, nil, 0o644) },
	}
}

func TestVanishedDataDirIsRefusedUntilItIsBack(t *testing.T) {
	for name, replace := range vanishings() {
		t.Run(name, func(t *testing.T) {
			w := start(t, "one")
			e := w.open()
			defer e.Close()
			ctx := context.Background()
			_, err := operation.Sync.Do(ctx, e.Operations(), request.Sync{Demand: true})
			must(t, err)
			w.publish("one", "2026.10", "new")
			w.provider.ResetRequests()

			dir, away := w.cfg.DataDir, w.cfg.DataDir+".away"
			must(t, os.Rename(dir, away))
			must(t, replace(away, dir))
			before := listing(t, dir)
			_, synced := operation.Sync.Do(ctx, e.Operations(), request.Sync{Demand: true})
			_, rolledBack := operation.Rollback.Do(ctx, e.Operations(), request.Rollback{})
			_, repaired := operation.Repair.Do(ctx, e.Operations(), request.Verify{})
			status, err := e.Status()
			must(t, err)
			told := state(t, status, "one")
			for what, err := range map[string]error{
				"sync": synced, "rollback": rolledBack, "repair": repaired,
				"alive": e.Alive(), "ready": e.Ready(0), "status": errors.New(told.Error),
			} {
				if err == nil || !strings.Contains(err.Error(), "data_dir "+dir+" vanished or was replaced") || !strings.Contains(err.Error(), "put it back, or restart syncd") {
					t.Errorf("%s: got %v, want an error that data_dir vanished", what, err)
				}
			}
			if told.State != report.StateFailed {
				t.Errorf("status %+v", told)
			}
			if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
				t.Errorf("something was made in its place: %s", diff)
			}
			if got := w.provider.Requests(); len(got) > 0 {
				t.Errorf("requests %v", got)
			}

			must(t, os.RemoveAll(dir))
			must(t, os.Rename(away, dir))
			must(t, errors.Join(e.Alive(), e.Ready(0)))
			result, err := operation.Sync.Do(ctx, e.Operations(), request.Sync{Demand: true})
			if err != nil || !result.OK() || result.Generation != 2 || w.content("one") != "new" {
				t.Errorf("back again: %+v, %v", result, err)
			}
		})
	}
}

// A sync then fails before any manifest, so that nothing else than this says why.
func TestAPartOfTheDataDirectoryThatWasTakenAwayIsTold(t *testing.T) {
	for _, part := range []string{"partial", "objects"} {
		t.Run(part, func(t *testing.T) {
			w := start(t, "one")
			e := w.open()
			defer e.Close()
			_, err := operation.Sync.Do(t.Context(), e.Operations(), request.Sync{Demand: true})
			must(t, err)
			path := filepath.Join(w.cfg.DataDir, part)
			must(t, os.Rename(path, path+".away"))
			status, err := e.Status()
			must(t, err)
			for what, got := range map[string]string{"damage": status.Damage, "manifest": state(t, status, "one").Explanation, "alive": fmt.Sprint(e.Alive())} {
				if !strings.Contains(got, path+" was removed or replaced while syncd was running: restart syncd") {
					t.Errorf("%s: %s", what, got)
				}
			}
			must(t, e.Ready(0)) // readers have the data
			must(t, os.Rename(path+".away", path))
			status, err = e.Status()
			must(t, errors.Join(err, e.Alive()))
			if told := state(t, status, "one"); status.Damage != "" || told.State != report.StateInSync {
				t.Errorf("back again: %q, %+v", status.Damage, told)
			}
		})
	}
}

// readOnly syncs once into a file system of its own and makes that read-only.
func readOnly(t *testing.T, w *world) {
	t.Helper()
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("NOT TESTED: a read-only disk needs a tmpfs of its own, which only root may mount here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	w.cfg.DataDir = filepath.Join(mount, "data")
	e := w.open()
	_, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Demand: true})
	must(t, err)
	must(t, e.Close())
	must(t, syscall.Mount("", mount, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
}

func TestReadOnlyDataDirHasAClearErrorAndAReadableStatus(t *testing.T) {
	w := start(t, "one")
	readOnly(t, w)
	for _, dir := range []string{w.cfg.DataDir, filepath.Join(filepath.Dir(w.cfg.DataDir), "new")} {
		cfg := *w.cfg
		cfg.DataDir = dir
		_, err := Open(&cfg, Options{Log: zerolog.Nop(), Registry: prometheus.NewRegistry(), AddSecret: func(string) {}})
		if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "read-only file system") || !strings.Contains(err.Error(), "mount it for writing") {
			t.Errorf("got %v, want an error that data_dir is read-only", err)
		}
	}
	m, err := mirror.Open(w.cfg.DataDir, &durable.Disk{})
	must(t, err)
	s, err := store.OpenReadOnly(m.Root(), StateFile, time.Second)
	must(t, err)
	defer s.Close()
	status, err := StatusOnDisk(w.cfg, m, s)
	must(t, err)
	if got := state(t, status, "one"); got.State != report.StateInSync || got.Release != "2026.09" || got.CheckedAt == nil {
		t.Errorf("got status %+v, want in_sync with 2026.09", got)
	}
}

func TestOpenErrorsHaveANextStep(t *testing.T) {
	rows := []struct {
		name string
		err  error
		says string
	}{
		{"read-only", &fs.PathError{Op: "mkdir", Path: "/data/state", Err: syscall.EROFS}, "mount it for writing"},
		{"another user's", &fs.PathError{Op: "open", Path: "/data/state/lock", Err: syscall.EACCES}, "run syncd as the user that owns it"},
		{"in a folder of another user", &fs.PathError{Op: "mkdir", Path: "/data", Err: syscall.EACCES}, "make it as root with `install -d -o USER DIR`"},
		{"on a full disk", &fs.PathError{Op: "mkdir", Path: "/data/state", Err: syscall.ENOSPC}, "make room"},
		{"held", &flock.HeldError{Path: "/data/state/lock", PID: 7}, "is another syncd running?"},
		{"owned by several users", fmt.Errorf("/data/objects belongs to user 7: %w: give it to one user", fs.ErrPermission), "data_dir: /data/objects belongs"},
		{"anything else", syscall.EIO, "data_dir: "},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			err := openError(row.err)
			if !errors.Is(err, row.err) || !strings.Contains(err.Error(), row.says) {
				t.Errorf("got %v, want the cause and the advice", err)
			}
			if text := err.Error(); strings.Count(text, "/data") > 1 || strings.Count(text, ": ") > 4 {
				t.Errorf("the path or the advice is there twice: %s", text)
			}
		})
	}
}
