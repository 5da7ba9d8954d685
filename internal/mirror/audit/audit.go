package audit

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/mirror"
)

const (
	dir    = "state/audit"
	trees  = dir + "/trees"
	events = dir + "/events"
)

// Event says that a manifest or view went live, or left.
type Event struct {
	At         time.Time `json:"at"`
	Generation int       `json:"generation"`
	Name       string    `json:"name"`
	Tree       string    `json:"tree"` // release and revision, or the fingerprint of a view; "" when it left
}

// Log writes the events. Safe for concurrent use.
type Log struct {
	root *fsops.Dir
	disk *durable.Disk

	mu      sync.Mutex // held across the disk: only Note and SetKeep need it
	keep    time.Duration
	isRead  bool // else events and damaged are not known yet
	events  []Event
	damaged []string // lines that are kept as they are
}

// Open reads the events of a data directory. What they lack, it makes of the generations on
// disk: all of them for a lost state, the later ones for a state that was put back. After an
// error, the next Note tries again.
func Open(m *mirror.Mirror, disk *durable.Disk, keep time.Duration) (*Log, error) {
	l := &Log{root: m.Root(), disk: disk, keep: keep}
	if err := l.readLocked(); err != nil {
		return l, err
	}
	noted := 0
	if len(l.events) > 0 {
		noted = l.events[len(l.events)-1].Generation
	}
	if len(changes(l.events, m.Current())) == 0 {
		return l, l.root.SweepTemps(dir) // of a write that a crash left under both of its names
	}
	generations, err := m.Generations.All()
	for _, g := range slices.Backward(generations) {
		if g.Number > noted {
			err = errors.Join(err, l.Note(g))
		}
	}
	return l, errors.Join(err, l.Note(m.Current()))
}

// maxEvents bounds the file of events, in bytes. It is a million events: a file that is
// longer is another program's, or a sparse one that takes all memory.
const maxEvents = 128 << 20

// Read returns the events, the oldest first, and the lines that are no events.
func Read(root *fsops.Dir) (list []Event, damaged []string, err error) {
	f, err := root.OpenRegular(events)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() > maxEvents {
		return nil, nil, cmp.Or(err, fmt.Errorf("%s has over %d bytes: move it away", f.Name(), maxEvents))
	}
	lines := bufio.NewReader(io.LimitReader(f, maxEvents))
	for {
		line, err := lines.ReadString('\n')
		var e Event
		switch {
		case err != nil && err != io.EOF: //nolint:errorlint // a wrapped one is a failure
			return nil, nil, err
		case line == "":
			return list, damaged, nil
		case json.Unmarshal([]byte(line), &e) == nil && e.Name != "":
			list = append(list, e)
		default:
			damaged = append(damaged, strings.TrimSuffix(line, "\n"))
		}
	}
}

func (l *Log) readLocked() (err error) {
	if !l.isRead {
		l.events, l.damaged, err = Read(l.root)
		l.isRead = err == nil
	}
	return err
}

// Live returns when each tree of a manifest or view first went live, as far as it is known.
func (l *Log) Live(name string) map[string]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	live := map[string]time.Time{}
	for _, e := range l.events {
		if first, known := live[e.Tree]; e.Name == name && e.Tree != "" && (!known || e.At.Before(first)) {
			live[e.Tree] = e.At
		}
	}
	return live
}

// Left returns the trees of a manifest from which the host went back, as a rollback does, and
// to which it did not return.
func (l *Log) Left(name string) map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return left(l.events, name)
}

// SetKeep changes how long an event is kept after the next one of its manifest or view.
func (l *Log) SetKeep(keep time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep = keep
}

// Note adds what changed with a generation, and drops what is older than keep. Without a
// change it writes nothing.
func (l *Log) Note(g mirror.Generation) error {
	if g.Number == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.readLocked(); err != nil { // writing now would lose what cannot be read
		return err
	}
	added := changes(l.events, g)
	if len(added) == 0 {
		return nil
	}
	if err := l.makeDirs(); err != nil {
		return err
	}
	for _, e := range added {
		if err := l.keepTree(g.Number, e); err != nil {
			return err
		}
	}
	kept := prune(slices.Concat(l.events, added), time.Now().Add(-l.keep))
	if err := l.write(kept); err != nil {
		return err
	}
	l.events = kept
	return l.removeTrees()
}

func (l *Log) makeDirs() error {
	for _, name := range []string{dir, trees} {
		if err := l.root.EnsureDir(name, 0o700); err != nil {
			return err
		}
	}
	return errors.Join(l.disk.SyncDir(l.root, filepath.Dir(dir)), l.disk.SyncDir(l.root, dir))
}

// keepTree links the sums that a generation shows to readers.
func (l *Log) keepTree(number int, e Event) error {
	if e.Tree == "" {
		return nil
	}
	folder := filepath.Join(trees, e.Name)
	if _, err := l.root.Lstat(filepath.Join(folder, e.Tree)); err == nil {
		return nil
	}
	if err := l.root.EnsureDir(folder, 0o700); err != nil {
		return err
	}
	from, err := l.root.Open(mirror.GenerationDir(number))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := l.root.Open(folder)
	if err != nil {
		return err
	}
	defer to.Close()
	copied, err := fsops.Link(from, mirror.SumsName(e.Name), to, e.Tree)
	if err != nil {
		return err
	}
	if copied {
		if err := l.disk.SyncFiles(l.root, []string{filepath.Join(folder, e.Tree)}); err != nil {
			return err
		}
	}
	return errors.Join(l.disk.SyncDir(l.root, folder), l.disk.SyncDir(l.root, trees))
}

func (l *Log) write(list []Event) error {
	return l.disk.ReplaceFile(l.root, events, 0o600, func(w io.Writer) error {
		for _, line := range l.damaged {
			if _, err := io.WriteString(w, line+"\n"); err != nil {
				return err
			}
		}
		encoder := json.NewEncoder(w)
		for _, e := range list {
			if err := encoder.Encode(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// removeTrees removes the trees that no event names, such as a crash leaves, and those of
// dropped events. A damaged line may name any of them.
func (l *Log) removeTrees() error {
	if len(l.damaged) > 0 {
		return nil
	}
	wanted := map[string]bool{}
	for _, e := range l.events {
		wanted[filepath.Join(e.Name, e.Tree)], wanted[e.Name] = true, true
	}
	err := l.root.SweepTemps(dir)
	names, listErr := l.root.Names(trees)
	err = errors.Join(err, listErr)
	for _, name := range names {
		folder := filepath.Join(trees, name)
		if !wanted[name] {
			err = errors.Join(err, l.root.RemoveAll(folder))
			continue
		}
		files, listErr := l.root.Names(folder)
		err = errors.Join(err, listErr)
		for _, file := range files {
			if !wanted[filepath.Join(name, file)] {
				err = errors.Join(err, l.root.Remove(filepath.Join(folder, file)))
			}
		}
	}
	return err
}
