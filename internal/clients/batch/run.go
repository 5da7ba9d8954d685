package batch

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
	"syncd/internal/clients/wire"
	"syncd/internal/manifest/refusal"
)

// Progress is how far a batch is.
type Progress struct {
	Rows, Done, Failed int
	Left               time.Duration // 0 when not known
}

// StoppedError ends a batch before its last row.
type StoppedError struct {
	Done, Rows int
	Err        error
}

func (e *StoppedError) Error() string { return e.Err.Error() }
func (e *StoppedError) Unwrap() error { return e.Err }

// run is the state of one Run.
type run struct {
	*Batch
	inputs *inputs
	began  time.Time
	stop   context.CancelCauseFunc

	mu       sync.Mutex
	finished int       // rows of this run
	failed   int       // of them, with an error
	suspects []suspect // failures that may be the row's or the service's
	answered time.Time // when the service last answered a row
	shown    time.Time
}

// suspect is a row that failed in a way that may also be the service's failure.
type suspect struct {
	number int
	err    error
}

// Run asks for every row that has no answer, and writes the output. It returns how many
// rows of the output have an error. A *StoppedError says that rows are left; then a further
// run goes on. Begin must have been called.
func (b *Batch) Run(ctx context.Context) (failed int, err error) {
	asking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &run{Batch: b, inputs: newInputs(b.cfg), began: time.Now(), shown: time.Now(), stop: stop}
	err = r.askAll(asking)
	if cause := context.Cause(asking); cause != nil {
		err = cause
	} else if err == nil {
		err = r.lastSuspects()
	}
	if syncErr := b.journal.sync(); err == nil {
		err = syncErr
	}
	if err != nil {
		return 0, &StoppedError{b.journal.done(), b.Rows, err}
	}
	return b.write()
}

// askAll asks for the rows in order, several at once.
func (r *run) askAll(ctx context.Context) error {
	limit := rate.NewLimiter(rate.Limit(r.cfg.Rate), 1)
	group := errgroup.Group{}
	group.SetLimit(r.cfg.AtOnce)
	err := r.again(func(number int, row row) error {
		if r.journal.has(number) {
			return nil
		}
		call, err := r.inputs.call(row)
		if err != nil {
			return r.finish(number, nil, r.problem(number, row, err))
		}
		if r.cfg.Operation.Writes && r.journal.wasAsked(number) {
			return r.finish(number, nil, errInFlight)
		}
		if err := limit.Wait(ctx); err != nil {
			return context.Cause(ctx)
		}
		group.Go(func() error {
			if err := r.ask(ctx, number, call); err != nil {
				r.stop(err)
			}
			return nil
		})
		return context.Cause(ctx)
	})
	_ = group.Wait() // ask's errors are the cause of ctx
	return err
}

var errInFlight = errors.New("the process ended while this submission was sent, so it may have been accepted: ask the provider before sending it again")

// ask asks for one row. Its error stops the batch.
func (r *run) ask(ctx context.Context, number int, call *service.Call) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.cfg.Operation.Writes {
		if err := r.journal.put(entry{Row: number, Asking: new(true)}, true); err != nil {
			return err
		}
		ctx = context.WithoutCancel(ctx) // the client bounds it; its answer is worth the wait
	}
	began := time.Now()
	answer, err := r.cfg.Client.Send(ctx, call)
	verdict := judge(err)
	switch {
	case ctx.Err() != nil && err != nil:
		return context.Cause(ctx) // the next run asks again
	case isUnsent(err):
		return r.finish(number, nil, err)
	case r.cfg.Operation.Writes && transport.IsTransient(err): // it may have been accepted
		return errors.Join(r.finish(number, nil, err), err)
	case verdict == rowFailed || err == nil:
		return r.settle(number, answer, err)
	case r.cfg.Operation.Writes:
		return errors.Join(err, r.journal.put(entry{Row: number, Asking: new(false)}, true))
	case verdict == mayBeEither:
		return r.suspect(number, began, err)
	}
	return err
}

// isUnsent is true for a row that cannot be written as a request.
func isUnsent(err error) bool {
	_, ok := errors.AsType[*service.InputError](err)
	return ok
}

// verdict says whose fault an error is.
type verdict int

const (
	rowFailed verdict = iota
	serviceFailed
	mayBeEither
)

// credentialCodes say that no call with this Customer ID or from this host is served.
var credentialCodes = []service.Code{"GE04", "GE05", "GE06", "GE08", "GE09", "GE10", "GE11", "GE12", "GE13", "GE14", "GE15"}

// rowStatuses refuse what one row asks for.
var rowStatuses = []int{http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusUnprocessableEntity}

// judge says whose fault an error is: a service that answers other rows has refused this one.
func judge(err error) verdict {
	if answered, ok := errors.AsType[*service.AnswerError](err); ok {
		if answered.Codes.Has(credentialCodes...) {
			return serviceFailed
		}
		return rowFailed
	}
	failed, ok := errors.AsType[*transport.Error](err)
	switch {
	case !ok, failed.Kind == transport.Licence:
		return serviceFailed
	case slices.Contains(rowStatuses, failed.Status), failed.Kind == transport.NotFound && failed.Type != "", refusal.ReasonOf(err) == refusal.TooLarge:
		return rowFailed
	case failed.Kind == transport.Rejected && failed.Status == 0:
		return serviceFailed // a certificate, or a proxy that refuses
	}
	return mayBeEither
}

// settle finishes a row that the service has answered. So it works, and earlier failures
// were their rows'.
func (r *run) settle(number int, answer *service.Answer, err error) error {
	r.mu.Lock()
	suspects := r.suspects
	r.suspects, r.answered = nil, time.Now()
	r.mu.Unlock()
	for _, s := range suspects {
		if err := r.finish(s.number, nil, s.err); err != nil {
			return err
		}
	}
	return r.finish(number, answer, err)
}

// suspect notes the failure of a row that was asked for since began. It returns the error
// when so many rows in a row have failed that the service must be the cause.
func (r *run) suspect(number int, began time.Time, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if tried := time.Since(began); r.answered.After(began.Add(tried / 2)) {
		return r.finishLocked(number, nil, err) // others were answered while it was tried again
	}
	r.suspects = append(r.suspects, suspect{number, err})
	if len(r.suspects) >= max(2, r.cfg.AtOnce) {
		return r.suspects[0].err
	}
	return nil
}

// lastSuspects decides about rows after which the service has answered no other. If only
// they are left, and have failed with a response in an earlier run too, the error is theirs.
func (r *run) lastSuspects() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.suspects) == 0 {
		return nil
	}
	areTheirs := len(r.suspects) == r.Rows-r.journal.done()
	for _, s := range r.suspects {
		failed, ok := errors.AsType[*transport.Error](s.err)
		areTheirs = areTheirs && ok && failed.Status != 0 && r.journal.wasSuspect(s.number)
	}
	for _, s := range r.suspects {
		err := r.journal.put(entry{Row: s.number, Suspect: true}, false)
		if areTheirs && err == nil {
			err = r.finishLocked(s.number, nil, s.err)
		}
		if err != nil {
			return err
		}
	}
	if areTheirs {
		return nil
	}
	return r.suspects[0].err
}

// finish keeps what became of a row.
func (r *run) finish(number int, answer *service.Answer, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.finishLocked(number, answer, err)
}

func (r *run) finishLocked(number int, answer *service.Answer, err error) error {
	e := entry{Row: number}
	if err != nil {
		e.Error = r.cfg.Client.Redactor().String(err.Error())
	}
	if answer != nil {
		e.Answer = json.RawMessage(wire.JSON(valueOf(answer)))
	}
	if err := r.journal.put(e, false); err != nil {
		return err
	}
	r.finished++
	if err != nil {
		r.failed++
	}
	r.show()
	return nil
}

// valueOf returns an answer as a value; one that is no JSON or XML is a text.
func valueOf(answer *service.Answer) wire.Value {
	if answer.Value != nil || !utf8.Valid(answer.Raw) {
		return answer.Value
	}
	return string(answer.Raw)
}

const showEvery = 5 * time.Second

func (r *run) show() {
	now := time.Now()
	if r.cfg.Show == nil || now.Sub(r.shown) < showEvery {
		return
	}
	r.shown = now
	p := Progress{Rows: r.Rows, Done: r.Done + r.finished, Failed: r.failed}
	p.Left = time.Duration(float64(now.Sub(r.began)) / float64(r.finished) * float64(p.Rows-p.Done))
	r.cfg.Show(p)
}
