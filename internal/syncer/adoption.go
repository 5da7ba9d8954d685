package syncer

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"syncd/internal/disk/fsops"
	"syncd/internal/disk/space"
	"syncd/internal/fetcher"
	"syncd/internal/golive/room"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/report/progress"
	"syncd/internal/report/request"
	"syncd/internal/syncer/adopt"
	"syncd/internal/verify"
)

// adoption takes files of one folder for one run.
type adoption struct {
	run    *run
	folder *adopt.Folder
	move   bool
	names  map[string]bool // in lower case, of files whose size is not known

	name     string // of the folder, as progress shows it
	progress *progress.Tracker

	mu        sync.Mutex                // guards what follows until takeAll returns
	open      map[manifest.Digest]int64 // sizes of the contents that no file has had yet; -1 when unknown
	sizes     map[int64]int             // how many of open have a size
	adopted   map[manifest.Digest]manifest.Object
	copied    []copiedFile // to be removed
	filesRead int
	bytesRead int64
	problems  adopt.Problems
	reserved  space.Amount // for files that are still to be copied
	flushed   time.Time
}

// copiedFile is a file that was copied instead of moved.
type copiedFile struct {
	adopt.Candidate
	seen fsops.Info
}

func newAdoption(r *run, req request.Adopt, folder *adopt.Folder, progress *progress.Tracker) *adoption {
	a := &adoption{
		run: r, folder: folder, move: req.Move, name: req.Folder, progress: progress, names: map[string]bool{}, open: map[manifest.Digest]int64{},
		sizes: map[int64]int{}, adopted: map[manifest.Digest]manifest.Object{}, flushed: time.Now(),
	}
	for _, j := range openJobs(r.jobs) {
		for _, f := range j.plan.Missing {
			size, known := j.sizes[f.Expected]
			if !known {
				size = -1
				a.names[strings.ToLower(f.Reference.Name)] = true
			}
			if _, seen := a.open[f.Expected]; !seen {
				a.open[f.Expected] = size
				a.sizes[size]++
			}
		}
	}
	return a
}

// wants is true for a file that may have an open content, by its size. A name counts only
// where the provider gave no size.
func (a *adoption) wants(name string, size int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sizes[size] > 0 || a.sizes[-1] > 0 && a.names[strings.ToLower(name)]
}

// takeAll reads the files that may be wanted with all cores, the largest first so that
// none trails. It ends early when the disk is full.
func (a *adoption) takeAll(ctx context.Context) error {
	list, problems, err := a.folder.Candidates(ctx, a.wants)
	if err != nil {
		return err
	}
	a.problems = problems
	slices.SortFunc(list, func(x, y adopt.Candidate) int {
		return cmp.Or(cmp.Compare(y.Size, x.Size), cmp.Compare(x.Path, y.Path))
	})
	release, err := a.reserve(list)
	if err != nil {
		return err
	}
	defer release()
	a.showTotal(list)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, c := range list {
		group.Go(func() error { return a.take(ctx, c) })
	}
	err = group.Wait()
	a.run.session.Flush()
	return space.RefuseIfFull(err)
}

// showTotal begins the progress: how many files and bytes will be read.
func (a *adoption) showTotal(list []adopt.Candidate) {
	var total int64
	for _, c := range list {
		total += c.Size
	}
	a.progress.SetPhase(a.name, report.PhaseDownloading)
	a.progress.SetFiles(a.name, len(list))
	a.progress.SetBytes(a.name, total)
}

// take adopts one file. It returns an error only when the others are of no use either.
func (a *adoption) take(ctx context.Context, c adopt.Candidate) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	defer a.progress.AddDone(a.name, c.Size)
	if !a.wants(c.Path[strings.LastIndexByte(c.Path, '/')+1:], c.Size) {
		return nil
	}
	reading := a.progress.StartDownload(a.name, c.Path, c.Size)
	defer reading.Finish()
	err := adopt.ErrNotMovable
	if a.move {
		err = a.moveOne(ctx, c, reading)
	}
	if errors.Is(err, adopt.ErrNotMovable) {
		err = a.copyOne(ctx, c, reading)
	}
	switch {
	case err == nil:
	case ctx.Err() != nil || fsops.IsFull(err):
		return err
	default:
		a.skip(adopt.Problem{Path: c.Path, Err: err})
	}
	a.flushIfDue()
	return nil
}

func (a *adoption) copyOne(ctx context.Context, c adopt.Candidate, progress io.Writer) error {
	partial, name := a.run.cfg.Mirror.Partial(), "adopt-"+rand.Text()
	done := a.run.cfg.Shared.adopting.keep(name)
	seen, err := a.folder.Seen(c)
	if err == nil {
		var h *verify.Hasher
		if h, err = a.folder.Copy(ctx, c, partial, name, a.run.cfg.Algorithm, progress); err == nil && a.claim(h) {
			a.add(h, name, func() {
				done()
				a.noteCopied(h, copiedFile{c, seen})
			})
			return nil
		}
	}
	partial.Discard(name)
	done()
	return err
}

// moveOne renames a file to the name of the unfinished download of its content. There the
// next sync finds it if this process is killed.
func (a *adoption) moveOne(ctx context.Context, c adopt.Candidate, progress io.Writer) error {
	var hashed *verify.Hasher
	var name string
	err := a.folder.Move(ctx, c, a.run.cfg.Mirror.Partial(), a.run.cfg.Algorithm, progress, func(h *verify.Hasher) string {
		if a.claim(h) {
			hashed, name = h, fetcher.Name(h.Digest())
		}
		return name
	})
	switch {
	case hashed == nil:
	case err == nil:
		a.add(hashed, name, func() {})
	default:
		a.giveBack(hashed)
	}
	return err
}

// claim is true when the hashed content is wanted. No other file or download has it then.
func (a *adoption) claim(h *verify.Hasher) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.filesRead++
	a.bytesRead += h.Size()
	size, open := a.open[h.Digest()]
	if !open || !a.run.cfg.Shared.downloads.Begin(h.Digest()) {
		return false
	}
	delete(a.open, h.Digest())
	a.sizes[size]--
	return true
}

// giveBack ends a claim without an object.
func (a *adoption) giveBack(h *verify.Hasher) {
	a.run.cfg.Shared.downloads.End(h.Digest())
}

// add makes a claimed file an object, perhaps together with others later. It calls done
// at the end.
func (a *adoption) add(h *verify.Hasher, name string, done func()) {
	object := h.Object()
	a.run.session.Add(verify.Proven{Name: name, Object: object}, func(err error) {
		defer done()
		if err != nil {
			a.giveBack(h)
			a.skip(adopt.Problem{Path: object.ID.String(), Err: err})
			return
		}
		a.run.cfg.Shared.downloads.Adopt(h.Digest(), object)
		a.noteAdopted(h.Digest(), object)
	})
}

// noteAdopted also gives back the space that was reserved for the copy.
func (a *adoption) noteAdopted(digest manifest.Digest, object manifest.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.adopted[digest] = object
	a.releaseLocked(min(a.reserved.Bytes, space.OfContent(object.Size).Bytes), min(a.reserved.Inodes, 1))
}

func (a *adoption) releaseLocked(bytes, inodes int64) {
	a.reserved.Bytes -= bytes
	a.reserved.Inodes -= inodes
	a.run.cfg.Shared.adopting.reserve(-bytes, -inodes)
}

// flushIfDue keeps small files from waiting for long: another sync may want them.
func (a *adoption) flushIfDue() {
	a.mu.Lock()
	due := time.Since(a.flushed) > flushEvery
	if due {
		a.flushed = time.Now()
	}
	a.mu.Unlock()
	if due {
		a.run.session.Flush()
	}
}

// noteCopied notes a file that a move copied, to remove it once the copy is durable.
func (a *adoption) noteCopied(h *verify.Hasher, c copiedFile) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, here := a.adopted[h.Digest()]; here && a.move {
		a.copied = append(a.copied, c)
	}
}

func (a *adoption) skip(p adopt.Problem) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.problems.Add(p.Path, p.Err)
}

// reserve refuses the adoption if its copies do not fit beside what running syncs will
// still take. release gives back what was not used.
func (a *adoption) reserve(list []adopt.Candidate) (release func(), err error) {
	cfg := a.run.cfg
	need := a.need(list)
	free, err := cfg.Mirror.Free()
	if err != nil {
		return nil, err
	}
	if free = free.Minus(cfg.Shared.Reserved(namesOfJobs(a.run.jobs))); !space.Fits(need, free) {
		return nil, space.Refuse(need, free, "")
	}
	cfg.Shared.adopting.reserve(need.Bytes, need.Inodes)
	a.reserved = need
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.releaseLocked(a.reserved.Bytes, a.reserved.Inodes)
	}, nil
}

// need is the space of the copies. Clones and moved files take none.
func (a *adoption) need(list []adopt.Candidate) space.Amount {
	partial := a.run.cfg.Mirror.Partial()
	need := space.Amount{Bytes: room.Overhead}
	if len(list) == 0 || a.folder.CanClone(list[0], partial, "adopt-"+rand.Text()) {
		return need
	}
	left := maps.Clone(a.sizes)
	for _, c := range list {
		if size := c.Size; left[size] > 0 {
			left[size]--
		} else if size = -1; left[size] > 0 {
			left[size]--
		} else {
			continue
		}
		need.Inodes++
		if !a.move || !a.folder.CanMove(c, partial) {
			need.Bytes = min(need.Bytes+space.OfContent(c.Size).Bytes, space.Max)
		}
	}
	return need
}
