package batch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"syncd/internal/clients/service"
	"syncd/internal/disk/fsops"
)

// Config is what a batch needs; every field is required unless it says so.
type Config struct {
	Client    *service.Client
	Service   string
	Operation *service.Operation
	Form      service.Form // without a method, the columns choose it
	Arguments []string     // name=value for every row; may be empty
	Input     string       // the name of a file
	Output    string
	Rate      float64 // requests in a second
	AtOnce    int     // requests in flight
	Show      func(Progress)
}

// Batch is an input that has been read and checked. Close ends it.
type Batch struct {
	Plan

	cfg     Config
	file    *os.File
	info    fs.FileInfo
	format  format
	comma   rune
	columns []string // of the input; nil if each row names its own
	sum     string   // SHA-256 of the input
	folder  *fsops.Dir
	journal *journal
}

// Plan is what a batch is going to do.
type Plan struct {
	Rows    int
	Invalid int   // rows that cannot be sent
	Problem error // of the first of them
	Done    int   // rows that an earlier run has finished
	Failed  int   // of a complete output: rows with an error
	Sent    []string
	Kept    []string      // columns that are no inputs
	First   *service.Call // of the first valid row
}

// InputError says why a batch cannot begin. Nothing was sent.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// Open reads and checks the whole input. It writes and sends nothing.
func Open(cfg Config) (*Batch, error) {
	b := &Batch{cfg: cfg}
	err := b.open()
	if err == nil {
		err = b.chooseMethod()
	}
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return nil, errors.Join(&InputError{fmt.Errorf("%s: %w", cfg.Input, err)}, b.Close())
	}
	if b.folder, err = fsops.OpenDir(filepath.Dir(cfg.Output)); err != nil {
		return nil, errors.Join(&InputError{fmt.Errorf("%s: %w", cfg.Output, err)}, b.Close())
	}
	return b, nil
}

// Close closes the input and keeps the journal.
func (b *Batch) Close() error {
	var errs []error
	if b.journal != nil {
		errs = append(errs, b.journal.close())
	}
	if b.folder != nil {
		errs = append(errs, b.folder.Close())
	}
	if b.file != nil {
		errs = append(errs, b.file.Close())
	}
	b.journal, b.folder, b.file = nil, nil, nil
	return errors.Join(errs...)
}

// open opens the input, which is read several times and across runs.
func (b *Batch) open() error {
	file, info, err := fsops.OpenRegular(b.cfg.Input)
	if errors.Is(err, fsops.ErrNotRegular) {
		return errors.New("is not a file: a batch reads its input again when it goes on")
	}
	if err != nil {
		return errors.Unwrap(err)
	}
	b.file, b.info = file, info
	if other, err := os.Stat(b.cfg.Output); err == nil && os.SameFile(info, other) {
		return errors.New("is also the output: name another one")
	}
	return nil
}

// chooseMethod chooses POST if a column of the header, or of the first line of JSON, is an
// input that only POST has.
func (b *Batch) chooseMethod() error {
	op, form := b.cfg.Operation, &b.cfg.Form
	if form.Method != "" {
		return nil
	}
	form.Method = op.Methods[0]
	consider := func(columns []string) error {
		for _, column := range columns {
			slot, err := op.Find(column, form.Method, b.cfg.Client.Prefix())
			if slot != nil || err != nil || !op.Has("POST") {
				continue // check tells errors
			}
			if slot, err := op.Find(column, "POST", b.cfg.Client.Prefix()); slot != nil && err == nil {
				form.Method = "POST"
			}
		}
		return nil
	}
	_, err := b.each(func(_ int, r row) error {
		var names []string
		for _, m := range r.members {
			names = append(names, m.Name)
		}
		return errors.Join(consider(names), errEnough)
	}, consider)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

var errEnough = errors.New("the first row is enough")

// check reads every row.
func (b *Batch) check() error {
	in := newInputs(b.cfg)
	sum, err := b.each(func(number int, r row) error {
		b.Rows = number
		call, err := in.call(r)
		switch {
		case err != nil && b.Invalid == 0:
			b.Problem = b.problem(number, r, err)
			fallthrough
		case err != nil:
			b.Invalid++
		case b.First == nil:
			b.First = call
		}
		return nil
	}, in.checkColumns)
	b.sum = sum
	b.Sent, b.Kept = in.sent()
	switch {
	case err != nil:
		return err
	case b.Rows == 0:
		return errors.New("has no rows")
	case b.First == nil:
		return fmt.Errorf("no row can be sent: %w", b.Problem)
	case len(b.Sent) == 0:
		return fmt.Errorf("no column names an input of %s: --help lists them", b.cfg.Operation.Name)
	}
	return nil
}

// problem names the place of a row that cannot be sent.
func (b *Batch) problem(number int, r row, err error) error {
	if r.err != nil {
		return r.err // has its line
	}
	return fmt.Errorf("row %d, line %d: %w", number, r.line, err)
}

// each calls visit for each row, counted from 1, and returns the SHA-256 of the file. Before
// the first row, it calls columns with the names of the columns.
func (b *Batch) each(visit func(number int, r row) error, columns func([]string) error) (sum string, err error) {
	hash := sha256.New()
	source := io.TeeReader(io.NewSectionReader(b.file, 0, 1<<62), hash)
	f := b.format
	if f == unknown {
		f = formatOf(b.cfg.Input)
	}
	t, f, comma, err := newTable(source, f, b.comma)
	if err != nil {
		return "", err
	}
	b.format, b.comma, b.columns = f, comma, t.columns()
	if err := columns(b.columns); err != nil {
		return "", err
	}
	for number := 1; ; number++ {
		r, err := t.next()
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(hash.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
		if err := visit(number, r); err != nil {
			return "", err
		}
	}
}

func noCheck([]string) error { return nil }

// again is each for a second reading. It fails if the file has changed since the first.
func (b *Batch) again(visit func(number int, r row) error) error {
	sum, err := b.each(func(number int, r row) error {
		if number > b.Rows {
			return errChanged
		}
		return visit(number, r)
	}, noCheck)
	if err == nil && sum != b.sum {
		err = errChanged
	}
	if err != nil {
		return fmt.Errorf("%s: %w", b.cfg.Input, err)
	}
	return nil
}

var errChanged = errors.New("has changed while it was read: restore it, and give the same command again")

// Begin opens the journal of an earlier run, or begins one. It is true if the output has
// every row already, so that there is nothing to do.
func (b *Batch) Begin() (isComplete bool, err error) {
	name := filepath.Base(b.cfg.Output)
	_, noOutput := b.folder.Lstat(name)
	_, noJournal := b.folder.Lstat(name + partialSuffix)
	if noOutput == nil && noJournal != nil {
		b.Done = b.Rows
		b.Failed, err = b.checkOutput()
		return err == nil, err
	}
	request, err := json.Marshal([]any{b.cfg.Service, b.cfg.Operation.Name, b.cfg.Form.Method, b.cfg.Form.Format, b.cfg.Form.JSONP, b.cfg.Arguments})
	if err != nil {
		return false, err
	}
	sum := sha256.Sum256(request)
	b.journal, err = openJournal(b.folder, name, beginning{Version: 1, Input: b.sum, Request: hex.EncodeToString(sum[:]), Rows: b.Rows})
	if changed, ok := errors.AsType[*ChangedError](err); ok {
		return false, &InputError{changed}
	}
	if err != nil {
		return false, err
	}
	b.Done = b.journal.done()
	return false, nil
}

// Partial is the folder that keeps answers until the output is complete.
func (b *Batch) Partial() string { return b.cfg.Output + partialSuffix }
