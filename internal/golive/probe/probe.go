package probe

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"syncd/internal/host/command"
)

// Probe is a question to the consumer of a manifest: a command, or a URL. The zero value is
// none.
type Probe struct {
	Command []string
	URL     string // with the placeholders of Subject

	Contains string // a text of the answer, with placeholders; "" for any answer
	Status   int    // of the answer

	Within time.Duration // after a swap, the consumer must work so soon
	Every  time.Duration // between questions

	Env       []string       // of the command
	Roots     *x509.CertPool // of a URL; nil for the system's
	UserAgent string
}

// IsSet is true if there is something to ask.
func (p Probe) IsSet() bool { return len(p.Command) > 0 || p.URL != "" }

// Subject is the served revision that the consumer is asked about.
type Subject struct {
	Manifest, Release, Revision string

	Previous string // revision that was served before; "" for none
	Path     string // of the served tree
}

// replace puts a subject in the place of its placeholders.
func (s Subject) replace(text string, escape func(string) string) string {
	return strings.NewReplacer("{manifest}", escape(s.Manifest), "{release}", escape(s.Release), "{revision}", escape(s.Revision)).Replace(text)
}

func (s Subject) environ() []string {
	return []string{
		"SYNCD_EVENT=probe", "SYNCD_MANIFEST=" + s.Manifest, "SYNCD_RELEASE=" + s.Release, "SYNCD_REVISION=" + s.Revision,
		"SYNCD_PREVIOUS=" + s.Previous, "SYNCD_PATH=" + s.Path,
	}
}

// Answer is what one question found out.
type Answer struct {
	Passed bool
	Error  string   // why not
	Lines  []string // the last ones that the consumer said
	Took   time.Duration
}

// leastTime is what each question gets at least, also at the end of Within, so that a
// restart in the last moment does not decide.
const leastTime = 5 * time.Second

// Ask asks once, for as long as limit says at most. The error is the context's cause, or a failure of this host, which says
// nothing about the consumer.
func (p Probe) Ask(ctx context.Context, s Subject, limit time.Duration) (answer Answer, err error) {
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTime)
	defer cancel()
	if p.URL != "" {
		answer = p.get(ctx, s)
	} else {
		answer, err = p.run(ctx, s)
	}
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errTime) {
		return Answer{}, context.Cause(ctx)
	}
	answer.Took = time.Since(began)
	return answer, err
}

// errTime ends a question.
var errTime = errors.New("time")

func (p Probe) run(ctx context.Context, s Subject) (Answer, error) {
	var tail command.Tail
	err := command.Command{
		Argv: p.Command, Env: slices.Concat(p.Env, s.environ()), Stdout: &tail, Stderr: &tail,
	}.Run(ctx)
	answer := Answer{Passed: err == nil, Lines: tail.Lines()}
	exit, isExit := errors.AsType[*command.ExitError](err)
	switch {
	case err == nil:
		return answer, nil
	case errors.Is(err, command.ErrSupervisor):
		return Answer{}, fmt.Errorf("run the probe %s: %w", p.Command[0], err)
	case isExit:
		answer.Error = fmt.Sprintf("the probe %s failed: %v", p.Command[0], exit)
	case errors.Is(err, errTime):
		answer.Error = fmt.Sprintf("the probe %s failed: it was still running when its time was over", p.Command[0])
	default:
		answer.Error = fmt.Sprintf("the probe %s cannot be run: %v", p.Command[0], err)
	}
	answer.Error += quoted(answer.Lines)
	return answer, nil
}

// quoted is the end of an error that quotes the consumer.
func quoted(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return ": " + strings.Join(lines, " / ")
}

// Watch asks until the consumer works or the time is over, at least once. tell hears each
// answer. The error is the context's cause, or a failure of this host at the last question.
func (p Probe) Watch(ctx context.Context, s Subject, until time.Time, tell func(Answer)) (answer Answer, err error) {
	for {
		answer, err = p.Ask(ctx, s, max(time.Until(until), min(leastTime, p.Within)))
		if ctx.Err() != nil {
			return Answer{}, context.Cause(ctx)
		}
		if err == nil {
			tell(answer)
		}
		left := time.Until(until)
		if answer.Passed || left <= 0 {
			return answer, err
		}
		select {
		case <-time.After(min(p.Every, left)): // the last question comes when the time is over
		case <-ctx.Done():
			return Answer{}, context.Cause(ctx)
		}
	}
}
