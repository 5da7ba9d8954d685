package engine

import (
	"syncd/internal/config"
	"syncd/internal/disk/durable"
	"syncd/internal/downstream/patches"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/store"
)

// openPatches takes up the patches that are kept for other hosts. None is made before
// Patches.Run.
func openPatches(e *Engine, disk *durable.Disk) error {
	kept, err := patches.Open(e.mirror.Root(), disk, store.PatchesOf(e.store))
	if err != nil {
		return err
	}
	e.Patches = patches.NewMaker(patches.Config{
		Store: kept, Mirror: withheld{e.mirror, e.notes}, Records: e.mirror.Records, Objects: e.mirror.Objects, Live: e.audit.Live,
		Settings: func() patches.Settings { return patches.Settings(e.Config().Publish.Patches) },
		Room:     func() int64 { return roomForPatches(e) }, Log: e.options.Log,
		Syncing: func() bool { return e.directory.Room().Reserved(nil).Bytes > 0 },
	})
	return nil
}

// roomForPatches is what patches may still take beside what running syncs will write.
func roomForPatches(e *Engine) int64 {
	free, err := e.mirror.Free()
	volume, volumeErr := e.mirror.Volume()
	if err != nil || volumeErr != nil {
		return 0
	}
	var served int64
	for _, r := range e.mirror.Current().Records {
		served += r.Bytes
	}
	return patches.Room(free.Bytes-e.directory.Room().Reserved(nil).Bytes, volume, served)
}

// patchesShown is what the metrics show of patches.
func patchesShown(m *patches.Maker) metrics.Patches {
	made, failed := m.Counts()
	return metrics.Patches{Made: made, Failed: failed, Bytes: m.Bytes()}
}

// patchesStatus is nil if no patches are configured, and for a user who may not look.
func patchesStatus(cfg *config.Config, m *mirror.Mirror) *report.PatchesStatus {
	count, bytes, err := patches.Count(m.Root())
	if cfg.Publish.Patches.From == 0 || err != nil {
		return nil
	}
	return &report.PatchesStatus{Count: count, Bytes: bytes}
}
