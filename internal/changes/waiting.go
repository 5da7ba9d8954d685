package changes

import (
	"encoding/binary"
	"math/bits"
)

// waitingRow is a row, or several equal ones, that has not met its partner.
type waitingRow struct {
	row, key sum
	offset   int64 // of the first of them
	count    int64 // above zero: of the earlier file; below: of the later one
}

// join adds equal rows, which cancel those of the other side.
func (w *waitingRow) join(more waitingRow) {
	switch {
	case w.count == 0:
		*w = more
	case w.count > 0 == (more.count > 0):
		w.count += more.count
		w.offset = min(w.offset, more.offset)
	default:
		if w.count += more.count; w.count > 0 == (more.count > 0) {
			w.offset = more.offset
		}
	}
}

// waiting holds rows of both files until the equal row of the other file comes. It has two
// tables. When the younger one is full, the rows of the older one leave, so that a row
// waits for at least as many rows as a table has.
type waiting struct {
	young, old []waitingRow // open addressing; a slot with a zero offset and count is free
	used       int          // slots of young, with those whose rows have met
	leave      func(waitingRow) error

	met    int // rows since the last turn that met their partner
	passes int // rows that leave at once, because hardly any met before
}

// Files in different orders have partners that are further apart than the tables reach. If
// fewer than one row in rarely meets its partner, so many times the slots of a table leave
// at once; then rows wait again, because the files may have come to a part in one order.
const (
	rarely   = 8
	passFor  = 16
	fullness = 3 // quarters of the slots of a table
)

// usualTable is the number of slots of a table: 24 MiB for both.
const usualTable = 1 << 18

func newWaiting(slots int, leave func(waitingRow) error) *waiting {
	return &waiting{young: make([]waitingRow, slots), old: make([]waitingRow, slots), leave: leave}
}

// find returns the slot of a row in a table, or the free one where it would be.
func find(table []waitingRow, row sum) *waitingRow {
	mask := uint64(len(table) - 1)
	for i := row[1] & mask; ; i = (i + 1) & mask {
		slot := &table[i]
		if slot.row == row || slot.row == (sum{}) {
			return slot
		}
	}
}

// meet adds a row of one side: 1 for the earlier file, -1 for the later one. met is true
// when it cancelled a row of the other side, which was at offset.
func (w *waiting) meet(row, key sum, at int64, side int64) (met bool, offset int64, err error) {
	if w.passes > 0 {
		w.passes--
		return false, 0, w.leave(waitingRow{row: row, key: key, offset: at, count: side})
	}
	slot := find(w.young, row)
	if slot.count == 0 {
		if old := find(w.old, row); old.count != 0 {
			slot = old
		}
	}
	switch {
	case slot.count*side < 0:
		slot.count += side
		w.met++
		return true, slot.offset, nil
	case slot.count != 0:
		slot.count += side
		return false, 0, nil
	}
	if slot.row == (sum{}) {
		w.used++
	}
	*slot = waitingRow{row: row, key: key, offset: at, count: side}
	if w.used*4 >= len(w.young)*fullness {
		return false, 0, w.turn()
	}
	return false, 0, nil
}

// turn empties the older table and starts a new one.
func (w *waiting) turn() error {
	if err := w.drain(w.old, w.leave); err != nil {
		return err
	}
	if w.met*rarely < w.used {
		w.passes = passFor * len(w.young)
	}
	w.young, w.old, w.used, w.met = w.old, w.young, 0, 0
	return nil
}

func (w *waiting) drain(table []waitingRow, leave func(waitingRow) error) error {
	for i := range table {
		if table[i].count != 0 {
			if err := leave(table[i]); err != nil {
				return err
			}
		}
	}
	clear(table)
	return nil
}

// rest returns all rows that still wait, and forgets them.
func (w *waiting) rest(leave func(waitingRow) error) error {
	if err := w.drain(w.old, leave); err != nil {
		return err
	}
	w.used = 0
	return w.drain(w.young, leave)
}

// The bytes of a record: row, offset, count and, with a key, the key.
const (
	shortRecord = 32
	keyedRecord = 48
)

// appendRecord writes a row into the scratch file.
func appendRecord(dst []byte, w waitingRow, keyed bool) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, w.row[0])
	dst = binary.LittleEndian.AppendUint64(dst, w.row[1])
	dst = binary.LittleEndian.AppendUint64(dst, uint64(w.offset))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(w.count))
	if keyed {
		dst = binary.LittleEndian.AppendUint64(dst, w.key[0])
		dst = binary.LittleEndian.AppendUint64(dst, w.key[1])
	}
	return dst
}

func readRecord(b []byte) waitingRow {
	w := waitingRow{
		row:    sum{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])},
		offset: int64(binary.LittleEndian.Uint64(b[16:])),
		count:  int64(binary.LittleEndian.Uint64(b[24:])),
	}
	if w.key = w.row; len(b) == keyedRecord {
		w.key = sum{binary.LittleEndian.Uint64(b[32:]), binary.LittleEndian.Uint64(b[40:])}
	}
	return w
}

// partOf is the partition of a key. parts is a power of two.
func partOf(key sum, parts int) int {
	return int(key[0] >> (64 - bits.Len(uint(parts-1))))
}
