package mirror

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"syncd/internal/disk/fsops"
)

// swapTo swaps `current` on disk and in memory. Even when the fsync fails, readers
// may see the new generation: it is the current one if the link names it.
func (gs *Generations) swapTo(next Generation) error {
	gs.swapping.Lock()
	defer gs.swapping.Unlock()
	err := gs.swap(next.Number)
	number, readErr := gs.readCurrent()
	if err == nil || readErr == nil && number == next.Number {
		next.PublishedAt = time.Now() // not the time of building: readers had the old generation until now
		gs.left[gs.Current().Number] = next.PublishedAt
		gs.saveTime(next.Number, next.PublishedAt)
		gs.setCurrent(next)
	}
	return err
}

// swap is the commit point: readers see the old generation before it, and the new
// one after it.
func (gs *Generations) swap(number int) error {
	err := gs.disk.ReplaceSymlink(gs.root, generationDir(number), "current")
	gs.unsyncedSwap = err != nil
	return err
}

// repeatSwap repeats a swap that may have failed after its rename, so that
// it is durable before a sync relies on it. Another fsync alone is not enough: it
// can succeed although the failed one has dropped the change.
func (gs *Generations) repeatSwap() error {
	if !gs.unsyncedSwap {
		return nil
	}
	number, err := gs.readCurrent()
	if err != nil || number == 0 {
		return err
	}
	if err := gs.swap(number); err != nil {
		return fmt.Errorf("make the swap to generation %d durable: %w", number, err)
	}
	return nil
}

// build makes the directory of the next generation, complete and durable,
// but not served yet.
func (gs *Generations) build(change Change) (Generation, error) {
	current := gs.Current()
	next := current.after(change)
	if number, err := gs.readCurrent(); err != nil {
		return next, err
	} else if number != current.Number {
		return next, fmt.Errorf("current names generation %d, not %d: is another program changing %s? Restart syncd", number, current.Number, gs.dir)
	}
	final := generationDir(next.Number)
	if err := gs.root.RemoveTree(final); err != nil { // left by a Publish that failed after the rename
		return next, err
	}
	temp := fsops.TempName(final)
	defer gs.root.Discard(temp)
	if err := gs.makeDir(temp); err != nil {
		return next, err
	}
	var files []string
	for _, e := range next.entries() {
		name := e.EntryName()
		if err := gs.writeEntry(temp, e); err != nil {
			return next, fmt.Errorf("%s: %w", name, err)
		}
		files = append(files, filepath.Join(temp, name+recordSuffix), filepath.Join(temp, name+sumsSuffix))
	}
	if err := gs.disk.SyncFiles(gs.root, files); err != nil {
		return next, err
	}
	if err := gs.disk.SyncDir(gs.root, temp); err != nil {
		return next, err
	}
	return next, gs.disk.Rename(gs.root, temp, final)
}

// writeEntry writes the link, the record and the sums of a manifest or view. The bytes of
// its two files are not durable yet.
func (gs *Generations) writeEntry(dir string, e entry) error {
	name := e.EntryName()
	if err := gs.root.Symlink(e.Link(), filepath.Join(dir, name)); err != nil {
		return err
	}
	if err := gs.grants.Create(gs.root, filepath.Join(dir, name+recordSuffix), e.Write); err != nil {
		return err
	}
	return gs.grants.Create(gs.root, filepath.Join(dir, name+sumsSuffix), e.WriteSums)
}

// recover returns the generation that `current` names. When that one is
// missing or damaged, which no crash of syncd causes, it falls back to the newest
// complete one. If there is none, `current` stays as it is, and the next Publish
// uses the number after it.
func (gs *Generations) recover() (Generation, error) {
	number, err := gs.readCurrent()
	if err != nil {
		return Generation{}, err
	}
	if number > 0 {
		if g, err := gs.read(number); err == nil {
			return g, nil
		}
	}
	all, err := gs.All()
	if err != nil || len(all) == 0 {
		return Generation{Number: number}, err
	}
	gs.warn("current named no complete generation; it now names generation %d, the newest complete one: `syncd sync` updates it", all[0].Number)
	return all[0], gs.swap(all[0].Number)
}

// removeUnfinished removes the generations above current, which were built and never
// published, and earlier ones of which a crash took the content but kept the name.
func (gs *Generations) removeUnfinished(current int) error {
	numbers, err := gs.numbers()
	for _, n := range slices.Backward(numbers) {
		if n > current || n < current && isGutted(gs.root, n) {
			err = errors.Join(err, gs.root.RemoveTree(generationDir(n)))
		}
	}
	return err
}

func isGutted(root *fsops.Dir, number int) bool {
	names, err := root.Names(generationDir(number))
	return err == nil && !slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, recordSuffix) })
}
