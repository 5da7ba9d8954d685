package syncer_test

import (
	"fmt"
	"strings"
	"testing"

	"syncd/internal/emulator"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// manySmall are so many small files that only half of them are asked for their sizes. The name
// of the file at notSampled is one of the others.
func manySmall() files {
	all := files{}
	for i := range 700 {
		all[fmt.Sprintf("f%03d.dat", i)] = fmt.Sprintf("content %03d", i)
	}
	return all
}

const notSampled = "f351.dat"

func TestOnlyASampleOfManySmallFilesIsAskedForSizes(t *testing.T) {
	w := start(t, "data")
	w.publish("data", "2026.09", manySmall())
	equal(t, "downloaded", w.expect(w.demand(), "data", report.Updated).FilesDownloaded, 700)
	equal(t, "sizes", len(w.asked("/Metadata/")), 350)
	w.serves("data", manySmall())
}

func TestADryRunAsksForAllSizes(t *testing.T) {
	w := start(t, "data")
	w.publish("data", "2026.09", manySmall())
	result := w.sync(request.Sync{Trigger: "command", Demand: true, DryRun: true})
	equal(t, "sizes", len(w.asked("/Metadata/")), 700)
	equal(t, "bytes", result.Manifests[0].BytesDownloaded, int64(700*len("content 000")))
}

func TestALargeFileAmongManySmallOnesAsksForAllSizes(t *testing.T) {
	for name, faults := range map[string][]emulator.Fault{
		"with its length":    nil,
		"without its length": {{Kind: emulator.KindNoLength, Path: "/Download/*/" + notSampled}},
	} {
		w := start(t, "data")
		for _, fault := range faults {
			w.provider.AddFault(fault)
		}
		all := manySmall()
		all[notSampled] = strings.Repeat("long ", 100<<10)
		w.publish("data", "2026.09", all)
		m := w.expect(w.demand(), "data", report.Updated)
		equal(t, name+": downloaded", m.FilesDownloaded, 700)
		if got := len(w.asked("/Metadata/")); got <= 350 {
			t.Errorf("%s: %d sizes were asked for", name, got)
		}
		w.serves("data", all)
	}
}
