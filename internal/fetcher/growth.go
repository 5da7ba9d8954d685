package fetcher

import (
	"errors"

	"github.com/dustin/go-humanize"

	"syncd/internal/disk/space"
	"syncd/internal/manifest/refusal"
)

// Growth bounds a download that does not end where it should. A Watcher calls its methods one
// at a time.
type Growth struct {
	Told     int64                        // the file's size by its Metadata, -1 when unknown
	IsExact  bool                         // Told is the size by a record, which names the content
	Expected int64                        // its size as known by now, -1 when unknown
	Free     func() (space.Amount, error) // on the disk
	MakeRoom string                       // what to do when the disk is full

	done      int64 // bytes that are present
	checkedAt int64 // done when the free space was last checked
}

// While a file goes beyond its expected size, the free space is checked after each
// unexpectedStep, and unexpectedSpare stays free for others.
const unexpectedStep, unexpectedSpare = 64 << 20, 256 << 20

// errLonger ends the download of a file that is longer than its record says. Whatever follows
// is not its content.
var errLonger = errors.New("the file is longer than its record says")

func (g *Growth) checkExact(size int64) error {
	if !g.IsExact || g.Told < 0 || size <= g.Told {
		return nil
	}
	return refusal.New(refusal.TooLarge, "%w: %d bytes, %d were named", errLonger, size, g.Told)
}

// Announced checks the free space if a response says that the file is larger than expected.
func (g *Growth) Announced(size int64) error {
	if size <= g.Expected {
		return nil
	}
	if err := g.checkExact(size); err != nil {
		return err
	}
	g.Expected = size
	free, err := g.Free()
	if err != nil {
		return err
	}
	free.Inodes = -1 // the file exists
	if need := space.OfContent(size - g.done); !space.Fits(need, free) {
		return space.Refuse(need, free, "")
	}
	return nil
}

// Reached ends the download of a file that goes far beyond its size, or would fill the disk.
func (g *Growth) Reached(done int64) error {
	g.done = done
	if err := g.checkExact(done); err != nil {
		return err
	}
	if done <= max(g.Expected, g.checkedAt+unexpectedStep) {
		return nil
	}
	g.checkedAt = done
	if g.Told >= 0 && done > 2*g.Told+unexpectedStep {
		return refusal.New(refusal.TooLarge, "received %s of a file whose size is %s by its Metadata", humanize.IBytes(uint64(done)), humanize.IBytes(uint64(g.Told)))
	}
	free, err := g.Free()
	if err != nil {
		return err
	}
	if free.Bytes < unexpectedSpare {
		return refusal.New(refusal.NoSpace, "received %s of a file without an announced size, and %s are left free: %s",
			humanize.IBytes(uint64(done)), humanize.IBytes(uint64(free.Bytes)), g.MakeRoom)
	}
	return nil
}
