package transport

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Trouble tells of a request that failed and will be sent again, or that has no answer yet.
type Trouble struct {
	Err     error     // why the last attempt failed, or that the present one has no answer; nil when the trouble is over
	Attempt int       // the attempt that failed, or the one without an answer
	Since   time.Time // when the first request without an answer began
	Next    time.Time // when the request is sent again; zero while an attempt runs
	Answers bool      // the trouble is over because an answer came, not because the poll ended
}

// slowAfter is how long an attempt waits for an answer before that is told, so that a person
// gets a first answer within 3 s.
const slowAfter = 2 * time.Second

// leastAttempt is how long an attempt may take to connect and to answer at least, even if the
// retry budget ends before.
const leastAttempt = 3 * time.Second

// poll is a piece of work whose requests share one retry budget, such as a sync. The budget
// counts from the last byte or answer that one of them got.
type poll struct {
	silent atomic.Pointer[time.Time] // when the first request without an answer began; nil while the provider answers

	mu       sync.Mutex
	subjects map[string]*subject
}

// subject is a part of a poll whose trouble is told under its name, such as a manifest.
// Safe for concurrent use.
type subject struct {
	*poll
	name      string
	inTrouble atomic.Bool // so that an answer costs a load only

	telling sync.Mutex // makes calls of tell one at a time, and guards what follows
	tell    func(about string, t Trouble)
	last    Trouble
}

type subjectKey struct{}

// WithPoll begins a poll: requests with the returned context share one retry budget. end
// ends what was told of their trouble.
func WithPoll(ctx context.Context) (polling context.Context, end func()) {
	p := &poll{subjects: map[string]*subject{}}
	return context.WithValue(ctx, subjectKey{}, p.subject("")), p.end
}

// About names what the requests with the returned context are about. Outside a poll it
// changes nothing.
func About(ctx context.Context, name string) context.Context {
	s, _ := ctx.Value(subjectKey{}).(*subject)
	if s == nil || s.name == name {
		return ctx
	}
	return context.WithValue(ctx, subjectKey{}, s.subject(name))
}

// withSubject returns a context whose requests have the same subject, also outside any poll.
func withSubject(ctx context.Context) context.Context {
	if s, _ := ctx.Value(subjectKey{}).(*subject); s != nil {
		return ctx
	}
	return context.WithValue(ctx, subjectKey{}, subjectOf(ctx))
}

// subjectOf returns the subject of a request. A request outside any poll has its own.
func subjectOf(ctx context.Context) *subject {
	if s, _ := ctx.Value(subjectKey{}).(*subject); s != nil {
		return s
	}
	return &subject{poll: &poll{subjects: map[string]*subject{}}}
}

func (p *poll) subject(name string) *subject {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.subjects[name]
	if s == nil {
		s = &subject{poll: p, name: name}
		p.subjects[name] = s
	}
	return s
}

func (p *poll) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.subjects {
		s.end(false)
	}
}

// silence is how long no request of the poll has had an answer.
func (p *poll) silence() time.Duration {
	if since := p.silent.Load(); since != nil {
		return time.Since(*since)
	}
	return 0
}

// unanswered notes that a request, which began at a time, got no answer.
func (p *poll) unanswered(began time.Time) { p.silent.CompareAndSwap(nil, &began) }

// answered notes that a byte or an answer came. It is called for each read of a body.
func (s *subject) answered() {
	if s.silent.Load() != nil {
		s.silent.Store(nil)
	}
	if s.inTrouble.Load() {
		s.end(true)
	}
}

// end tells that the trouble is over.
func (s *subject) end(answers bool) {
	s.telling.Lock()
	defer s.telling.Unlock()
	if s.inTrouble.CompareAndSwap(true, false) {
		s.last = Trouble{}
		s.tell(s.name, Trouble{Answers: answers})
	}
}

// failed tells that an attempt failed, which began at a time, and when the next one comes.
func (s *subject) failed(tell func(string, Trouble), began time.Time, t Trouble) {
	if tell == nil {
		return
	}
	s.telling.Lock()
	defer s.telling.Unlock()
	s.setLocked(tell, began, t)
}

// waits tells that an attempt, which began at a time, has no answer yet. The error of an
// attempt before says more, so it stays.
func (s *subject) waits(tell func(string, Trouble), began time.Time, noAnswer error, watch *stallWatch) {
	if tell == nil {
		return
	}
	s.telling.Lock()
	defer s.telling.Unlock()
	if !watch.waits() { // the answer came just now
		return
	}
	t := Trouble{Err: noAnswer, Attempt: 1}
	if s.last.Err != nil {
		t.Err, t.Attempt = s.last.Err, s.last.Attempt
		if !s.last.Next.IsZero() {
			t.Attempt++
		}
	}
	s.setLocked(tell, began, t)
}

func (s *subject) setLocked(tell func(string, Trouble), began time.Time, t Trouble) {
	t.Since = began
	if s.last.Err != nil && s.last.Since.Before(began) {
		t.Since = s.last.Since
	}
	s.tell, s.last = tell, t
	s.inTrouble.Store(true)
	tell(s.name, t)
}
