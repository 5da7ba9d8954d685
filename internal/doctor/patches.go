//go:build linux

package doctor

import (
	"cmp"
	"context"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"syncd/internal/disk/fsops"
	"syncd/internal/disk/space"
	"syncd/internal/downstream/patches"
	"syncd/internal/report"
)

// checkPatches looks whether patches for followers can be made, and how many are there.
func (d *disk) checkPatches(ctx context.Context) []Finding {
	from := d.cfg.Publish.Patches.From
	if from == 0 {
		return []Finding{good("none are configured")}
	}
	status, err := d.Status(ctx, d.cfg)
	if err != nil || status.Patches == nil {
		return []Finding{skipped("not looked at, because the state of data_dir cannot be read")}
	}
	dir, err := fsops.OpenDir(existingParent(d.cfg.DataDir))
	if err != nil {
		return []Finding{failing(err, "check data_dir")}
	}
	defer dir.Close()
	free, freeErr := space.Free(dir)
	volume, err := dir.Volume()
	if err := cmp.Or(freeErr, err); err != nil {
		return []Finding{failing(err, "check the mount with `findmnt`")}
	}
	return []Finding{judgePatches(*status.Patches, from, d.cfg.Retain, patches.Room(free.Bytes, volume, served(status)))}
}

// served is how many bytes all manifests serve.
func served(status report.Status) (bytes int64) {
	for _, m := range status.Manifests {
		bytes += m.Bytes
	}
	return bytes
}

func judgePatches(kept report.PatchesStatus, from, retain int, room int64) Finding {
	switch {
	case retain < from:
		return hint("raise `retain`, or lower publish.patches.from", "patches are wanted from %s before the newest, and `retain: %d` does not keep so many", english.Plural(from, "revision", ""), retain)
	case room <= 0:
		return hint("make room on the disk of data_dir, or lower publish.patches.max_share", "no more patches are made, because they leave free what the next release takes: the disk lacks %s for that", humanize.IBytes(uint64(-room)))
	}
	return good("%s of %s, and room for more", english.Plural(kept.Count, "patch", "patches"), humanize.IBytes(uint64(kept.Bytes)))
}
