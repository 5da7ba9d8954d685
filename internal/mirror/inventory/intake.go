package inventory

import (
	"sync"

	"syncd/internal/manifest"
	"syncd/internal/store"
	"syncd/internal/verify"
)

// A batch is full at batchFiles files or batchBytes bytes. Smaller batches cost more
// commits of the file system, and other downloads cannot create their files during one.
// Larger ones leave more to do after the last download. A killed process leaves the
// complete files of its batch among the unfinished downloads, where the next sync finds
// them.
const batchFiles, batchBytes = 2000, 64 << 20

// intake collects small files, because syncing many together is cheaper. Safe for
// concurrent use.
type intake struct {
	adopting sync.Mutex // held while a batch becomes objects, so that a slow disk holds up further downloads

	mu    sync.Mutex // guards what follows
	batch []arrival
	bytes int64
}

// arrival is a proven file that is not an object yet.
type arrival struct {
	file    verify.Proven
	settled func(error)
}

func (in *intake) add(a arrival) (full bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.batch, in.bytes = append(in.batch, a), in.bytes+a.file.Object.Size
	return in.isFullLocked()
}

func (in *intake) isFullLocked() bool { return len(in.batch) >= batchFiles || in.bytes >= batchBytes }

func (in *intake) drain() []arrival {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.drainLocked()
}

// drainFull returns nothing if another caller has taken the full batch meanwhile.
func (in *intake) drainFull() []arrival {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.isFullLocked() {
		return nil
	}
	return in.drainLocked()
}

func (in *intake) drainLocked() []arrival {
	batch := in.batch
	in.batch, in.bytes = nil, 0
	return batch
}

// Add makes a proven file an object. A small file may wait for others until Flush. While
// one batch becomes objects, the next one fills; then Add blocks, so that the memory for
// waiting files is bounded. settled is called once, by any goroutine that calls Add or
// Flush: with nil when the object's bytes are durable, or with the reason why there is
// none. It must call neither. The object's name is durable after the next publish.
func (s *Session) Add(file verify.Proven, settled func(error)) {
	a := arrival{file, settled}
	if file.Durable {
		s.adopt([]arrival{a})
		return
	}
	if s.intake.add(a) {
		s.adoptNext(s.intake.drainFull)
	}
}

// Flush adds the files that wait.
func (s *Session) Flush() { s.adoptNext(s.intake.drain) }

// adoptNext takes a batch when no other one is under way.
func (s *Session) adoptNext(take func() []arrival) {
	s.intake.adopting.Lock()
	defer s.intake.adopting.Unlock()
	s.adopt(take())
}

func (s *Session) adopt(arrivals []arrival) {
	if len(arrivals) == 0 {
		return
	}
	files := make([]verify.Proven, len(arrivals))
	for i, a := range arrivals {
		files[i] = a.file
	}
	errs := s.inventory.cfg.Mirror.Objects.AdoptEach(files)
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
	info, found := s.inventory.cfg.Mirror.Objects.Info(id)
	if !found {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proven[id] = store.ProofOf(info)
	if damaged {
		s.replaced = append(s.replaced, id)
	}
	delete(s.damaged, id)
}

// TakeReplaced returns the objects that were downloaded again because those on disk were
// damaged. Earlier revisions still have the damaged files. It returns each once.
func (s *Session) TakeReplaced() (ids []manifest.ObjectID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids, s.replaced = s.replaced, nil
	return ids
}
