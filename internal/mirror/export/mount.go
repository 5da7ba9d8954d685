package export

import (
	"encoding/json"
	"io"
	"maps"
	"path/filepath"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
)

// mountsFile is in the data directory, because an export that is not mounted cannot say
// where it was, and because a folder that left the configuration must be found when a content
// is destroyed. It has the mount points of the file systems that exports are on, by path of
// the export. Device numbers are of no use: they may change at a restart.
const mountsFile = "state/exports.json"

// readMounts returns what was remembered. A damaged file remembers nothing.
func readMounts(dataDir string) map[string]string {
	text, _, err := fsops.ReadRegular(filepath.Join(dataDir, mountsFile), 1<<20)
	mounts := map[string]string{}
	if err != nil || json.Unmarshal(text, &mounts) != nil {
		return map[string]string{}
	}
	return mounts
}

// checkMounted refuses a folder whose file system is not mounted: an export would fill the
// disk below the mount point, where nobody looks for it.
func (t Target) checkMounted() error {
	remembered := readMounts(t.DataDir)[t.Path]
	if remembered == "" {
		return nil
	}
	now, err := fsops.MountPoint(filepath.Dir(t.Path))
	if err != nil || len(now) >= len(remembered) { // both lead to the folder
		return err
	}
	p := place{Target: t}
	return refuse("mount it; "+p.takeOverHint("exports to the file system at "+now+" from now on"),
		"nothing is mounted at %s, where the file system of the export was", remembered)
}

// rememberMount notes on which file system the folder is.
func (t Target) rememberMount(disk *durable.Disk) error {
	now, err := fsops.MountPoint(filepath.Dir(t.Path))
	if err != nil {
		return err
	}
	before := readMounts(t.DataDir)
	after := maps.Clone(before)
	after[t.Path] = now
	if maps.Equal(before, after) {
		return nil
	}
	dir, err := fsops.OpenDir(t.DataDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return disk.ReplaceFile(dir, mountsFile, 0o600, func(w io.Writer) error { return json.NewEncoder(w).Encode(after) })
}
