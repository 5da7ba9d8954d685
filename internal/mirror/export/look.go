package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"syncd/internal/disk/fsops"
	"syncd/internal/verify"
)

// Look tells which tree the folder shows, without a look at its files. The zero Mark
// is a folder that is missing or empty. It changes nothing.
func Look(t Target) (Mark, error) {
	if err := t.checkMounted(); err != nil {
		return Mark{}, err
	}
	p, err := openForReading(t)
	if isGone(err) {
		return Mark{}, nil
	}
	if err != nil {
		return Mark{}, err
	}
	defer p.close()
	if err := p.checkOwner(); err != nil {
		return Mark{}, err
	}
	s, err := p.shown()
	if err != nil || s.isMarked || !s.exists {
		return s.mark, err
	}
	return Mark{}, p.checkReplaceable(&s, Options{})
}

// Damage is a file of the folder that is not as it was exported.
type Damage struct {
	Path   string
	Err    error
	Shared bool // known already, so a new tree would have the same damage
}

// Known tells whether a file of the folder was read already under another name, and which
// damage was found.
type Known func(path string, file fsops.Info) (known bool, damage error)

// Checked is the result of Verify.
type Checked struct {
	Files  int // that were read
	Bytes  int64
	Damage []Damage // sorted by path
}

// Verify reads every file of the folder that is not known at most at the given rate, 0 for
// no limit, and compares it with the digest of the exported file. A folder that syncd did
// not export is an error.
func Verify(ctx context.Context, t Target, rate int64, known Known) (checked Checked, err error) {
	if err := t.checkMounted(); err != nil {
		return checked, wrap(t, err)
	}
	p, err := openForReading(t)
	if err != nil {
		return checked, wrap(t, err)
	}
	defer p.close()
	checked, err = p.verify(ctx, rate, known)
	return checked, wrap(t, err)
}

func (p *place) verify(ctx context.Context, rate int64, known Known) (checked Checked, err error) {
	s, err := p.shown()
	if err != nil {
		return checked, err
	}
	if !s.isMarked {
		return checked, cmp.Or(p.checkReplaceable(&s, Options{}), errors.New("nothing is exported yet: run `syncd sync`"))
	}
	list, err := p.readList(s.inode)
	if err != nil {
		return checked, err
	}
	dir, err := p.parent.OpenDir(p.name)
	if err != nil {
		return checked, err
	}
	defer dir.Close()
	if checked, err = verifyFiles(ctx, dir, list, rate, known); err != nil {
		return checked, err
	}
	extra, err := strangers(dir, list)
	checked.Damage = append(checked.Damage, extra...)
	slices.SortFunc(checked.Damage, func(a, b Damage) int { return cmp.Compare(a.Path, b.Path) })
	return checked, err
}

func verifyFiles(ctx context.Context, dir *fsops.Dir, list []markedFile, rate int64, known Known) (checked Checked, err error) {
	files := verify.NewFiles(rate)
	var mu sync.Mutex
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, e := range list {
		group.Go(func() error {
			isKnown, size, err := checkFile(reading, files, dir, e, known)
			if reading.Err() != nil {
				return context.Cause(reading)
			}
			mu.Lock()
			defer mu.Unlock()
			if !isKnown {
				checked.Files++
				checked.Bytes += size
			}
			if err != nil {
				checked.Damage = append(checked.Damage, Damage{Path: e.Path, Err: err, Shared: isKnown})
			}
			return nil
		})
	}
	err = group.Wait()
	return checked, err
}

// checkFile reads one file, unless it is known.
func checkFile(ctx context.Context, files *verify.Files, dir *fsops.Dir, e markedFile, known Known) (isKnown bool, size int64, err error) {
	if info, err := dir.Info(e.Path); err == nil {
		if isKnown, err = known(e.Path, info); isKnown {
			return true, 0, err
		}
	}
	object, err := files.Check(ctx, dir, e.Path, e.Object.Digest())
	return false, object.Size, err
}

// strangers are the files that were not exported.
func strangers(dir *fsops.Dir, list []markedFile) (found []Damage, err error) {
	known := make(map[string]bool, len(list))
	for _, e := range list {
		known[e.Path] = true
	}
	err = dir.Walk(".", func(name string, node fs.DirEntry) {
		if !node.IsDir() && !known[name] {
			found = append(found, Damage{Path: name, Err: fmt.Errorf("syncd did not export it: move it away")})
		}
	})
	return found, err
}
