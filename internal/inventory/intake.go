package inventory

import (
	"sync"

	"syncd/internal/manifest"
	"syncd/internal/store"
	"syncd/internal/verify"
)

// A batch is full at batchFiles files or batchBytes bytes. A killed process leaves the
// complete files of its batch among the unfinished downloads, where the next sync
// finds them.
const batchFiles, batchBytes = 1000, 64 << 20

// intake collects small files, because syncing many together is cheaper. Safe for
// concurrent use.
type intake struct {
	mu    sync.Mutex // guards what follows
	batch []arrival
	bytes int64
}

// arrival is a proven file that is not an object yet.
type arrival struct {
	file    verify.Proven
	settled func(error)
}

// add returns the arrivals that are due now: a durable file at once, and the whole
// batch when it is full.
func (in *intake) add(a arrival) []arrival {
	if a.file.Durable {
		return []arrival{a}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.batch, in.bytes = append(in.batch, a), in.bytes+a.file.Object.Size
	if len(in.batch) >= batchFiles || in.bytes >= batchBytes {
		return in.drainLocked()
	}
	return nil
}

func (in *intake) drain() []arrival {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.drainLocked()
}

func (in *intake) drainLocked() []arrival {
	batch := in.batch
	in.batch, in.bytes = nil, 0
	return batch
}

// Add makes a proven file an object. A small file may wait for others until Flush.
// settled is called once, by any goroutine that calls Add or Flush: with nil when the
// object's bytes are durable, or with the reason why there is none. The object's name
// is durable after the next publish.
func (s *Session) Add(file verify.Proven, settled func(error)) {
	s.adopt(s.intake.add(arrival{file, settled}))
}

// Flush adds the files that wait.
func (s *Session) Flush() { s.adopt(s.intake.drain()) }

func (s *Session) adopt(arrivals []arrival) {
	if len(arrivals) == 0 {
		return
	}
	files := make([]verify.Proven, len(arrivals))
	for i, a := range arrivals {
		files[i] = a.file
	}
	errs := s.inventory.cfg.Mirror.AdoptEach(files)
	for i, a := range arrivals {
		if errs[i] == nil {
			s.noteArrival(a.file.Object.ID)
		}
		a.settled(errs[i])
	}
}

// noteArrival replaces the proof of an object that had another file before. A new
// object needs no entry, and its file is not looked at.
func (s *Session) noteArrival(id manifest.ObjectID) {
	_, known := s.proof(id, store.Proof{})
	s.mu.Lock()
	damaged := s.damaged[id]
	s.mu.Unlock()
	if !known && !damaged {
		return
	}
	info, found := s.inventory.cfg.Mirror.ObjectInfo(id)
	if !found {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proven[id] = store.ProofOf(info)
	delete(s.damaged, id)
}
