package adopt

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
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
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/report/progress"
	"syncd/internal/verify"
)

// Objects keeps proven contents. Safe for concurrent use.
type Objects interface {
	// Add makes a file an object, perhaps together with others later. It calls done once.
	Add(file verify.Proven, done func(error))
	// Flush makes objects of all files that were added.
	Flush()
}

// Downloads are the contents that syncs download. Safe for concurrent use.
type Downloads interface {
	// Take is true when a content is the caller's, who must call End or Adopt. A download of
	// the content gives way.
	Take(content manifest.Digest) bool
	// End gives a content back that did not become an object.
	End(content manifest.Digest)
	// Adopt gives an object to the syncs that want to download it.
	Adopt(content manifest.Digest, object manifest.Object)
}

// Config is what New needs.
type Config struct {
	Folder    *Folder
	Name      string // of the folder, as progress shows it
	Move      bool
	Algorithm manifest.Algorithm
	Partial   *fsops.Dir // for unfinished files
	Objects   Objects
	Downloads Downloads
	Ledger    *Ledger
	Free      func(need space.Amount) (space.Amount, error) // for a need, without what others reserved
	Overhead  int64                                         // bytes that records and the state take
	Progress  *progress.Tracker
}

// flushEvery is the longest time that a small file waits for others before it becomes an
// object: another sync may want it.
const flushEvery = 5 * time.Second

// Adoption takes files of one folder.
type Adoption struct {
	cfg   Config
	names map[string]bool // in lower case, of files whose size is not known

	mu        sync.Mutex                // guards what follows until Take returns
	open      map[manifest.Digest]int64 // sizes of the contents that no file has had yet; -1 when unknown
	sizes     map[int64]int             // how many of open have a size
	adopted   map[manifest.Digest]manifest.Object
	elsewhere map[manifest.Digest]bool // a sync or another adoption has the content
	copied    []copiedFile             // to be removed
	filesRead int
	bytesRead int64
	problems  Problems
	reserved  space.Amount // for files that are still to be copied
	flushed   time.Time
}

// copiedFile is a file that was copied instead of moved.
type copiedFile struct {
	Candidate
	info fs.FileInfo // of the file that was read
}

// New returns an adoption that wants nothing yet.
func New(cfg Config) *Adoption {
	return &Adoption{
		cfg: cfg, names: map[string]bool{}, open: map[manifest.Digest]int64{},
		sizes: map[int64]int{}, adopted: map[manifest.Digest]manifest.Object{}, elsewhere: map[manifest.Digest]bool{}, flushed: time.Now(),
	}
}

// Want adds a content that is missing. size is -1 if it is not known.
func (a *Adoption) Want(f *manifest.File, size int64) {
	if size < 0 {
		a.names[strings.ToLower(f.Reference.Name())] = true
	}
	if _, seen := a.open[f.Expected]; !seen {
		a.open[f.Expected] = size
		a.sizes[size]++
	}
}

// WantsNothing is true if no content is missing.
func (a *Adoption) WantsNothing() bool { return len(a.open) == 0 }

// Adopted returns the object of an adopted content.
func (a *Adoption) Adopted(content manifest.Digest) (object manifest.Object, adopted bool) {
	object, adopted = a.adopted[content]
	return object, adopted
}

// IsMissing is true for a content that is still to be downloaded.
func (a *Adoption) IsMissing(content manifest.Digest) bool {
	_, adopted := a.adopted[content]
	return !adopted && !a.elsewhere[content]
}

// Remove removes the files from the folder that were copied instead of moved. Call it when
// their copies are durable.
func (a *Adoption) Remove() {
	for _, c := range a.copied {
		if err := a.cfg.Folder.Remove(c.Candidate, c.info); err != nil {
			a.Skip(c.Path, err)
		}
	}
}

// Report says how many files were read and adopted, and which were passed over.
func (a *Adoption) Report() report.Adoption {
	result := report.Adoption{Folder: a.cfg.Name, FilesRead: a.filesRead, BytesRead: a.bytesRead, Manifests: []report.AdoptedManifest{}}
	for _, object := range a.adopted {
		result.FilesAdopted++
		result.BytesAdopted += object.Size
	}
	result.SkippedCount = a.problems.Count
	for _, p := range a.problems.First {
		result.Skipped = append(result.Skipped, report.SkippedFile{Path: report.OneLine(p.Path), Error: report.OneLine(p.Err.Error())})
	}
	return result
}

// wants is true for a file that may have an open content, by its size. A name counts only
// where the provider gave no size.
func (a *Adoption) wants(name string, size int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sizes[size] > 0 || a.sizes[-1] > 0 && a.names[strings.ToLower(name)]
}

// Take reads the files that may be wanted with all cores, the largest first so that
// none trails. It ends early when the disk is full.
func (a *Adoption) Take(ctx context.Context) error {
	list, problems, err := a.cfg.Folder.Candidates(ctx, a.wants)
	if err != nil {
		return err
	}
	a.problems = problems
	slices.SortFunc(list, func(x, y Candidate) int {
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
	a.cfg.Objects.Flush()
	return space.RefuseIfFull(err)
}

// showTotal begins the progress: how many files and bytes will be read.
func (a *Adoption) showTotal(list []Candidate) {
	var total int64
	for _, c := range list {
		total += c.Size
	}
	a.cfg.Progress.SetPhase(a.cfg.Name, report.PhaseDownloading)
	a.cfg.Progress.SetFiles(a.cfg.Name, len(list))
	a.cfg.Progress.SetBytes(a.cfg.Name, total)
}

// take adopts one file. It returns an error only when the others are of no use either.
func (a *Adoption) take(ctx context.Context, c Candidate) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	defer a.cfg.Progress.AddDone(a.cfg.Name, c.Size)
	if !a.wants(c.Path[strings.LastIndexByte(c.Path, '/')+1:], c.Size) {
		return nil
	}
	reading := a.cfg.Progress.StartDownload(a.cfg.Name, c.Path, c.Size)
	defer reading.Finish()
	err := ErrNotMovable
	if a.cfg.Move {
		err = a.moveOne(ctx, c, reading)
	}
	if errors.Is(err, ErrNotMovable) {
		err = a.copyOne(ctx, c, reading)
	}
	switch {
	case err == nil:
	case ctx.Err() != nil || fsops.IsFull(err):
		return err
	default:
		a.Skip(c.Path, err)
	}
	a.flushIfDue()
	return nil
}

func (a *Adoption) copyOne(ctx context.Context, c Candidate, progress io.Writer) error {
	partial, name := a.cfg.Partial, "adopt-"+rand.Text()
	done := a.cfg.Ledger.keep(name)
	h, copied, err := a.cfg.Folder.Copy(ctx, c, partial, name, a.cfg.Algorithm, progress)
	if err == nil && a.claim(h) {
		a.add(h, name, func() {
			done()
			a.noteCopied(h, copiedFile{c, copied})
		})
		return nil
	}
	partial.Discard(name)
	done()
	return err
}

// moveOne renames a file to the name of the unfinished download of its content. There the
// next sync finds it if this process is killed.
func (a *Adoption) moveOne(ctx context.Context, c Candidate, progress io.Writer) error {
	var hashed *verify.Hasher
	var name string
	err := a.cfg.Folder.Move(ctx, c, a.cfg.Partial, a.cfg.Algorithm, progress, func(h *verify.Hasher) string {
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

// claim is true when the hashed content is wanted. No other file or download has it then:
// a download that is under way gives way.
func (a *Adoption) claim(h *verify.Hasher) bool {
	if !a.close(h) {
		return false
	}
	if !a.cfg.Downloads.Take(h.Digest()) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.elsewhere[h.Digest()] = true
		return false
	}
	return true
}

// close is true for the first file with an open content.
func (a *Adoption) close(h *verify.Hasher) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.filesRead++
	a.bytesRead += h.Size()
	size, open := a.open[h.Digest()]
	if open {
		delete(a.open, h.Digest())
		a.sizes[size]--
	}
	return open
}

// giveBack ends a claim without an object.
func (a *Adoption) giveBack(h *verify.Hasher) {
	a.cfg.Downloads.End(h.Digest())
}

// add makes a claimed file an object, perhaps together with others later. It calls done
// at the end.
func (a *Adoption) add(h *verify.Hasher, name string, done func()) {
	object := h.Object()
	a.cfg.Objects.Add(verify.Proven{Name: name, Object: object}, func(err error) {
		defer done()
		if err != nil {
			a.giveBack(h)
			a.Skip(object.ID.String(), err)
			return
		}
		a.cfg.Downloads.Adopt(h.Digest(), object)
		a.noteAdopted(h.Digest(), object)
	})
}

// noteAdopted also gives back the space that was reserved for the copy.
func (a *Adoption) noteAdopted(digest manifest.Digest, object manifest.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.adopted[digest] = object
	a.releaseLocked(min(a.reserved.Bytes, space.OfContent(object.Size).Bytes), min(a.reserved.Inodes, 1))
}

func (a *Adoption) releaseLocked(bytes, inodes int64) {
	a.reserved.Bytes -= bytes
	a.reserved.Inodes -= inodes
	a.cfg.Ledger.reserve(-bytes, -inodes)
}

// flushIfDue keeps small files from waiting for long: another sync may want them.
func (a *Adoption) flushIfDue() {
	a.mu.Lock()
	due := time.Since(a.flushed) > flushEvery
	if due {
		a.flushed = time.Now()
	}
	a.mu.Unlock()
	if due {
		a.cfg.Objects.Flush()
	}
}

// noteCopied notes a file that a move copied, to remove it once the copy is durable.
func (a *Adoption) noteCopied(h *verify.Hasher, c copiedFile) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, here := a.adopted[h.Digest()]; here && a.cfg.Move {
		a.copied = append(a.copied, c)
	}
}

// Skip notes why something in the folder was passed over.
func (a *Adoption) Skip(path string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.problems.Add(path, err)
}

// reserve refuses the adoption if its copies do not fit beside what running syncs will
// still take. release gives back what was not used.
func (a *Adoption) reserve(list []Candidate) (release func(), err error) {
	need := a.need(list)
	free, err := a.cfg.Free(need)
	if err == nil && !space.Fits(need, free) {
		err = space.Refuse(need, free, "")
	}
	if err != nil {
		return nil, err
	}
	a.cfg.Ledger.reserve(need.Bytes, need.Inodes)
	a.reserved = need
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.releaseLocked(a.reserved.Bytes, a.reserved.Inodes)
	}, nil
}

// need is the space of the copies. Clones and moved files take none.
func (a *Adoption) need(list []Candidate) space.Amount {
	partial := a.cfg.Partial
	need := space.Amount{Bytes: a.cfg.Overhead}
	if len(list) == 0 || a.cfg.Folder.CanClone(list[0], partial, "adopt-"+rand.Text()) {
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
		if !a.cfg.Move || !a.cfg.Folder.CanMove(c, partial) {
			need.Bytes = min(need.Bytes+space.OfContent(c.Size).Bytes, space.Max)
		}
	}
	return need
}
