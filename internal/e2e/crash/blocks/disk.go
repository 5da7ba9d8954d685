package blocks

import (
	"bytes"
	"maps"
	"sync"
	"time"
)

// pageSize is the unit in which a disk keeps or loses what is written.
const pageSize = 4096

var zeros [pageSize]byte

// Entry is a write of a page, or a flush.
type Entry struct {
	IsFlush bool
	Page    int64
	At      time.Time // when it arrived
}

// disk is a disk in memory. A page never changes once it is in a map: copies share it.
type disk struct {
	size int64

	mu      sync.Mutex
	pages   map[int64][]byte // pages of zeros are left out
	base    map[int64][]byte // the pages when recording began, nil before
	entries []Entry
	written [][]byte // the pages of entries
}

func newDisk(size int64) *disk { return &disk{size: size, pages: map[int64][]byte{}} }

func (d *disk) read(data []byte, at int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(data) > 0 {
		page, from := at/pageSize, at%pageSize
		is := d.pages[page]
		if is == nil {
			is = zeros[:]
		}
		n := copy(data, is[from:])
		data, at = data[n:], at+int64(n)
	}
}

func (d *disk) write(data []byte, at int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(data) > 0 {
		number := at / pageSize
		page := make([]byte, pageSize)
		copy(page, d.pages[number])
		n := copy(page[at%pageSize:], data)
		put(d.pages, number, page)
		if d.base != nil {
			d.note(Entry{Page: number, At: time.Now()}, page)
		}
		data, at = data[n:], at+int64(n)
	}
}

func put(pages map[int64][]byte, number int64, page []byte) {
	if bytes.Equal(page, zeros[:]) {
		delete(pages, number)
		return
	}
	pages[number] = page
}

func (d *disk) note(entry Entry, page []byte) {
	d.entries, d.written = append(d.entries, entry), append(d.written, page)
}

func (d *disk) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.base != nil {
		d.note(Entry{IsFlush: true, At: time.Now()}, nil)
	}
}

// record begins to note writes and flushes.
func (d *disk) record() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.base, d.entries, d.written = maps.Clone(d.pages), nil, nil
}

func (d *disk) recorded() []Entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.entries
}

// cut is a disk with the first writes, and then some of the others.
func (d *disk) cut(first int, others []int) *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	image := &disk{size: d.size, pages: maps.Clone(d.base)}
	keep := func(i int) {
		if !d.entries[i].IsFlush {
			put(image.pages, d.entries[i].Page, d.written[i])
		}
	}
	for i := range first {
		keep(i)
	}
	for _, i := range others {
		keep(i)
	}
	return image
}
