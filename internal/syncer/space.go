package syncer

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"syncd/internal/fsops"
	"syncd/internal/mirror"
	"syncd/internal/refusal"
)

// maxSpace is more than any disk has, and so little that sums of it do not overflow.
const maxSpace = 1 << 60

// blockSize is what a small file or a directory takes on most file systems.
const blockSize = 4 << 10

// spaceFor returns the space that so many bytes of content take.
func spaceFor(size int64) mirror.Space {
	return mirror.Space{Bytes: (min(size, maxSpace) + blockSize - 1) / blockSize * blockSize}
}

// plus adds up space. An unlimited number of inodes stays unlimited.
func plus(a, b mirror.Space) mirror.Space {
	sum := mirror.Space{Bytes: min(a.Bytes+b.Bytes, 2*maxSpace), Inodes: a.Inodes}
	if a.Inodes >= 0 {
		sum.Inodes += b.Inodes
	}
	return sum
}

// minus is what b leaves of a. An unlimited number of inodes stays unlimited.
func minus(a, b mirror.Space) mirror.Space {
	rest := mirror.Space{Bytes: max(a.Bytes-b.Bytes, 0), Inodes: a.Inodes}
	if a.Inodes >= 0 {
		rest.Inodes = max(a.Inodes-b.Inodes, 0)
	}
	return rest
}

func fits(need, free mirror.Space) bool { return lacking(need, free) == lacksNothing }

// lack says which part of a need does not fit.
type lack int

const (
	lacksNothing lack = iota
	lacksBytes
	lacksInodes
)

func lacking(need, free mirror.Space) lack {
	switch {
	case need.Bytes > free.Bytes:
		return lacksBytes
	case free.Inodes >= 0 && need.Inodes > free.Inodes:
		return lacksInodes
	}
	return lacksNothing
}

// text is an amount of what is lacking, for people; "" for none.
func (l lack) text(amount mirror.Space) string {
	switch {
	case l == lacksBytes && amount.Bytes > 0:
		return fmt.Sprintf("%s (%d bytes)", humanize.IBytes(uint64(amount.Bytes)), amount.Bytes)
	case l == lacksInodes && amount.Inodes > 0:
		return fmt.Sprintf("%d inodes", amount.Inodes)
	}
	return ""
}

// noRoom refuses a need that does not fit. outlook says what pruning could free.
func noRoom(need, free mirror.Space, outlook string) error {
	l := lacking(need, free)
	left := l.text(free)
	if left == "" {
		left = "none"
	}
	return refusal.New(refusal.NoSpace, "needs %s, %s are free%s: free space in data_dir, or lower `retain`", l.text(need), left, outlook)
}

// noSpace turns a full disk into a refusal.
func noSpace(err error) error {
	if refusal.ReasonOf(err) != "" {
		return err
	}
	if fsops.IsFull(err) {
		return refusal.New(refusal.NoSpace, "disk full: %w: free space in data_dir, or lower `retain`", err)
	}
	return err
}
