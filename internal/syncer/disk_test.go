package syncer_test

import (
	"testing"

	"syncd/internal/report"
	"syncd/internal/report/status"
)

func TestDiskUseCountsEachContentOnce(t *testing.T) {
	w := served(t)
	w.publish("data", "2026.10", october())
	w.demand()
	disk, err := status.DiskUse(w.cfg.Mirror)
	must(t, err)
	if len(disk.Generations) != 2 || !disk.Generations[0].Current || disk.Generations[1].Current || disk.Free <= 0 {
		t.Fatalf("got disk use %+v, want two generations, the current one first", disk)
	}
	newer, older := disk.Generations[0], disk.Generations[1]
	equal(t, "the newer shows", newer.Shows, []report.ManifestRelease{{Name: "data", Release: "2026.10", Revision: w.only().Revision}})
	if shared := newer.Bytes - newer.Own; shared <= 0 || shared != older.Bytes-older.Own || disk.Bytes != newer.Own+older.Own+shared {
		t.Errorf("the shared bytes do not add up: %+v", disk)
	}
}

func TestDiskUseOfNothingIsNothing(t *testing.T) {
	disk, err := status.DiskUse(start(t, "data").cfg.Mirror)
	must(t, err)
	equal(t, "disk", disk, report.DiskUse{Generations: []report.GenerationUse{}})
}
