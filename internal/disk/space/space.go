package space

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest/refusal"
)

// Max is more bytes than any disk has, and so little that sums do not overflow.
const Max = 1 << 60

// BlockSize is what a small file or a directory takes on most file systems.
const BlockSize = 4 << 10

// Amount is free or needed space.
type Amount struct {
	Bytes  int64
	Inodes int64 // -1 of free space when the file system has no fixed number
}

// Free returns what this user may still take of the file system of dir.
func Free(dir *fsops.Dir) (Amount, error) {
	bytes, inodes, err := dir.Free()
	return Amount{Bytes: bytes, Inodes: inodes}, err
}

// OfContent returns the space that size bytes of content take, in whole blocks.
func OfContent(size int64) Amount {
	return Amount{Bytes: (min(size, Max) + BlockSize - 1) / BlockSize * BlockSize}
}

// Plus adds b. An unlimited number of inodes stays unlimited.
func (a Amount) Plus(b Amount) Amount {
	sum := Amount{Bytes: min(a.Bytes+b.Bytes, 2*Max), Inodes: a.Inodes}
	if a.Inodes >= 0 {
		sum.Inodes += b.Inodes
	}
	return sum
}

// Minus is what b leaves, at least nothing. An unlimited number of inodes stays
// unlimited.
func (a Amount) Minus(b Amount) Amount {
	rest := Amount{Bytes: max(a.Bytes-b.Bytes, 0), Inodes: a.Inodes}
	if a.Inodes >= 0 {
		rest.Inodes = max(a.Inodes-b.Inodes, 0)
	}
	return rest
}

// Fits is true when the free space covers the need.
func Fits(need, free Amount) bool { return Lacking(need, free) == LacksNothing }

// Lack says which part of a need does not fit.
type Lack int

// The kinds of Lack.
const (
	LacksNothing Lack = iota
	LacksBytes
	LacksInodes
)

// Lacking returns which part of the need the free space does not cover.
func Lacking(need, free Amount) Lack {
	switch {
	case need.Bytes > free.Bytes:
		return LacksBytes
	case free.Inodes >= 0 && need.Inodes > free.Inodes:
		return LacksInodes
	}
	return LacksNothing
}

// Text shows the bytes or the inodes of an amount, whichever are lacking; "" for zero.
func (l Lack) Text(amount Amount) string {
	switch {
	case l == LacksBytes && amount.Bytes > 0:
		return fmt.Sprintf("%s (%d bytes)", humanize.IBytes(uint64(amount.Bytes)), amount.Bytes)
	case l == LacksInodes && amount.Inodes > 0:
		return fmt.Sprintf("%d inodes", amount.Inodes)
	}
	return ""
}

// Refuse returns the refusal of a need that does not fit. outlook is added to its
// text: it says what pruning could free.
func Refuse(need, free Amount, outlook string) error {
	lack := Lacking(need, free)
	left := lack.Text(free)
	left = cmp.Or(left, "none")
	step := "make room on the disk of data_dir"
	if strings.Contains(outlook, "`retain: ") {
		step += ", or lower `retain`"
	}
	return refusal.New(refusal.NoSpace, "needs %s, %s are free%s: %s", lack.Text(need), left, outlook, step)
}

// RefuseIfFull turns the error of a full disk into a refusal. It returns any other
// error as it is.
func RefuseIfFull(err error) error {
	if refusal.ReasonOf(err) == "" && fsops.IsFull(err) {
		return refusal.New(refusal.NoSpace, "disk full: %w: make room on the disk of data_dir", err)
	}
	return err
}
