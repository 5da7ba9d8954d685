package batch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"syncd/internal/clients/wire"
	"syncd/internal/disk/durable"
	"syncd/internal/disk/flock"
	"syncd/internal/disk/fsops"
)

// journal keeps the answers of a batch until all are there: a line of JSON each, in a file
// of a folder beside the output. Each line is written at once, so that a killed process
// loses none, and made durable once a second. A line that a power cut left incomplete is cut.
type journal struct {
	parent *fsops.Dir
	name   string // of the folder
	dir    *fsops.Dir
	lock   *flock.Lock
	disk   *durable.Disk

	suspects map[int]bool // of earlier runs

	mu      sync.Mutex // guards what follows
	file    *os.File
	end     int64
	answers []int64 // where the entry of each row begins; 0 for none
	asked   map[int]bool
	count   int
	synced  time.Time
}

const (
	journalFile = "answers"
	lockFile    = "lock"
	syncEvery   = time.Second
)

// beginning is the first line: it says what the answers are for.
type beginning struct {
	Version int    `json:"batch"`
	Input   string `json:"input"`   // SHA-256 of the file
	Request string `json:"request"` // SHA-256 of the operation, its form and its arguments
	Rows    int    `json:"rows"`
}

// entry is what became of one row, counted from 1.
type entry struct {
	Row     int             `json:"row"`
	Asking  *bool           `json:"asking,omitempty"`  // a submission is being sent, or was not taken
	Suspect bool            `json:"suspect,omitempty"` // failed, and may be the cause
	Error   string          `json:"error,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"`
}

// openJournal opens the journal of an output, or begins one.
func openJournal(parent *fsops.Dir, output string, begin beginning) (*journal, error) {
	j := &journal{parent: parent, name: output + partialSuffix, disk: &durable.Disk{}, asked: map[int]bool{}, suspects: map[int]bool{}, answers: make([]int64, begin.Rows)}
	if err := j.openFolder(); err != nil {
		return nil, err
	}
	if err := j.load(begin); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

// partialSuffix ends the name of a journal's folder.
const partialSuffix = ".partial"

func (j *journal) openFolder() (err error) {
	if err = j.parent.MakeDir(j.name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if j.dir, err = j.parent.OpenDir(j.name); err != nil {
		return fmt.Errorf("%s: %w: remove it, or name another output", j.parent.Path(j.name), err)
	}
	info, err := j.dir.Self().Stat()
	if err == nil {
		if owner, _, ok := fsops.OwnerOf(info); ok && (owner != os.Geteuid() || info.Mode().Perm()&0o077 != 0) {
			err = fmt.Errorf("%s is not a folder that only this user can use: remove it, or name another output", j.parent.Path(j.name))
		}
	}
	if err == nil {
		err = j.checkNames()
	}
	if err == nil {
		j.lock, err = flock.Acquire(j.dir, lockFile)
	}
	if err != nil {
		return errors.Join(err, j.dir.Close())
	}
	return nil
}

// checkNames refuses a folder with other files, which would be removed at the end: who can
// write in the folder above can give its name to another folder of this user.
func (j *journal) checkNames() error {
	names, err := j.dir.Names(".")
	for _, name := range names {
		if name != journalFile && name != lockFile {
			return fmt.Errorf("%s holds %q, which is no part of a batch: move it away, or name another output", j.parent.Path(j.name), name)
		}
	}
	return err
}

func (j *journal) close() error {
	var err error
	if j.file != nil {
		err = j.file.Close()
	}
	return errors.Join(err, j.lock.Release(), j.dir.Close())
}

// remove removes the journal when its answers are in the output. It first gets another name,
// because a journal without answers would ask for all of them again.
func (j *journal) remove() error {
	err := errors.Join(j.file.Close(), j.lock.Release())
	temp := fsops.TempName(j.name)
	if renamed := j.parent.Rename(j.name, temp); renamed != nil {
		return errors.Join(err, j.dir.Close(), renamed)
	}
	return errors.Join(err, fsops.RemoveFolder(j.parent, temp, j.dir))
}

// load reads what an earlier process left, and cuts an incomplete last line.
func (j *journal) load(want beginning) error {
	var err error
	if info, lerr := j.dir.Lstat(journalFile); lerr == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: remove it", j.dir.Path(journalFile))
	}
	if j.file, err = j.dir.OpenFile(journalFile, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	r := bufio.NewReader(j.file)
	for first := true; ; first = false {
		line, err := r.ReadBytes('\n')
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case err != nil && j.end == 0:
			return j.start(want)
		case err != nil:
			return fsops.Truncate(j.file, j.end)
		case first:
			err = j.checkBeginning(line, want)
		default:
			err = j.note(line)
		}
		if err != nil {
			return err
		}
		j.end += int64(len(line))
	}
}

// start writes the first line of a new journal.
func (j *journal) start(begin beginning) error {
	if err := fsops.Truncate(j.file, 0); err != nil {
		return err
	}
	line, err := json.Marshal(begin)
	if err != nil {
		return err
	}
	if err := j.append(line, true); err != nil {
		return err
	}
	return errors.Join(j.disk.SyncDir(j.dir, "."), j.disk.SyncDir(j.parent, "."))
}

// ChangedError says that a batch cannot go on, because it is not the one that began.
type ChangedError struct{ Problem string }

func (e *ChangedError) Error() string { return e.Problem }

func (j *journal) checkBeginning(line []byte, want beginning) error {
	var found beginning
	folder := j.parent.Path(j.name)
	switch err := json.Unmarshal(line, &found); {
	case err != nil || found.Version != want.Version:
		return &ChangedError{folder + " is not the journal of a batch that this version knows: remove it, or name another output"}
	case found.Request != want.Request:
		return &ChangedError{folder + " holds answers to another operation, or with other arguments: give those of that batch, name another output, or remove the folder"}
	case found.Input != want.Input || found.Rows != want.Rows:
		return &ChangedError{"the input has changed since the batch began, and the answers in " + folder + " belong to what it was: restore the input, or remove the folder to ask for every row again"}
	}
	return nil
}

// note remembers where the entry of a row begins.
func (j *journal) note(line []byte) error {
	var e entry
	if err := json.Unmarshal(line, &e); err != nil || e.Row < 1 || e.Row > len(j.answers) {
		return &ChangedError{fmt.Sprintf("%s is damaged at byte %d: remove the folder to ask for every row again", j.dir.Path(journalFile), j.end)}
	}
	switch {
	case e.Asking != nil:
		j.asked[e.Row] = *e.Asking
		return nil
	case e.Suspect:
		j.suspects[e.Row] = true
		return nil
	}
	if j.answers[e.Row-1] == 0 {
		j.count++
	}
	j.answers[e.Row-1] = j.end
	return nil
}

// put appends an entry. If isDurable is true, the entry survives a power cut.
func (j *journal) put(e entry, isDurable bool) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	at := j.end
	if err := j.append(line, isDurable); err != nil {
		return err
	}
	if e.Asking == nil && !e.Suspect {
		j.answers[e.Row-1] = at
		j.count++
	}
	return nil
}

// append writes a line. The rest of a failed write is cut, so that it joins no other line.
// mu must be held, except while the journal opens.
func (j *journal) append(line []byte, isDurable bool) error {
	line = append(line, '\n')
	if _, err := j.file.WriteAt(line, j.end); err != nil {
		return errors.Join(err, fsops.Truncate(j.file, j.end))
	}
	j.end += int64(len(line))
	if !isDurable && time.Since(j.synced) < syncEvery {
		return nil
	}
	j.synced = time.Now()
	return durable.SyncFile(j.file)
}

// sync makes all entries durable.
func (j *journal) sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return durable.SyncFile(j.file)
}

// has is true for a row whose entry is there.
func (j *journal) has(number int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.answers[number-1] != 0
}

// wasAsked is true for a submission that was being sent when its process ended.
func (j *journal) wasAsked(number int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.asked[number]
}

// wasSuspect is true for a row that failed at the end of an earlier run.
func (j *journal) wasSuspect(number int) bool { return j.suspects[number] }

func (j *journal) done() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.count
}

// outcome is what became of a row.
type outcome struct {
	err    string
	answer wire.Value
}

// read returns what became of a row.
func (j *journal) read(number int) (outcome, error) {
	at := j.answers[number-1]
	line, err := bufio.NewReader(io.NewSectionReader(j.file, at, j.end-at)).ReadBytes('\n')
	if err != nil {
		return outcome{}, err
	}
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		return outcome{}, err
	}
	if e.Answer = bytes.TrimSpace(e.Answer); len(e.Answer) == 0 {
		return outcome{err: e.Error}, nil
	}
	answer, err := wire.ParseJSON(e.Answer)
	return outcome{e.Error, answer}, err
}
