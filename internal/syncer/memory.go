package syncer

import (
	"runtime/debug"

	"github.com/dustin/go-humanize"

	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/syncer/source"
)

// A file takes about fileMemory bytes from its list to the end of its sync, viewMemory
// more for each view, servedMemory more if other hosts can ask about it and about two
// earlier releases, and the rest of the process baseMemory. They were measured with
// 100,000 and 250,000 files.
const fileMemory, viewMemory, servedMemory, baseMemory = 1700, 700, 1200, 64 << 20

// roomFor is how many files of all manifests fit in memory.
func roomFor(limit int64, views int, serves bool) int {
	perFile := fileMemory + views*viewMemory
	if serves {
		perFile += servedMemory
	}
	return int((limit - baseMemory) / int64(perFile))
}

// checkMemory refuses a list if the process would exceed its memory limit with the files
// of all manifests. The kernel would kill it then, at every start anew.
func (a asking) checkMemory(files int) error {
	r, j := a.run, a.job
	limit := debug.SetMemoryLimit(-1) // only reads it
	room := roomFor(limit, len(r.cfg.Views), r.cfg.Followers != nil)
	others, fits := r.cfg.Shared.takeFiles(j, files, room, r.cfg.Mirror.Current().Records)
	if fits {
		return nil
	}
	return refusal.New(refusal.TooLarge, "release %s of %s has %d files, and the other manifests have %d; the memory limit of %s allows about %d in all: raise it (MemoryMax of the unit, limit of the container, GOMEMLIMIT), or leave files out with os, compiler, language, architecture, include and exclude",
		j.release, j.target.Name, files, others, humanize.IBytes(uint64(limit)), room)
}

// takeFiles notes that a job keeps a number of files in memory, if there is room for
// them beside those of the other manifests.
func (s *Shared) takeFiles(j *job, files, room int, served map[string]mirror.Record) (others int, fits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := map[string]int{}
	for name, record := range served {
		kept[name] = len(record.Files)
	}
	for r := range s.runs {
		for _, other := range r.jobs {
			kept[other.target.Name] = max(kept[other.target.Name], other.kept)
		}
	}
	for name, n := range kept {
		if name != j.target.Name {
			others += n
		}
	}
	if files > source.SmallList && others+files > room {
		return others, false
	}
	j.kept = files
	return others, true
}
