package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"syncd/internal/host/command"
	"syncd/internal/manifest/expiry"
)

// Gate is a command and how its verdict is found.
type Gate struct {
	Command []string // empty for no gate
	Timeout time.Duration
	Compare bool    // the outputs for the served and the new tree are compared
	Changed float64 // share of lines that may differ then
	Env     []string
}

// Subject is the revision to judge.
type Subject struct {
	Manifest, Release, Revision string

	Path    string            // the new tree
	Current string            // the served one; "" for none
	Views   map[string]string // trees of views by name, as they would be after activation
	Served  map[string]string // the same, with the served revision; only if the gate compares
}

// side is what one run of a gate looks at.
type side struct {
	path  string
	views map[string]string
}

func (s Subject) after() side  { return side{s.Path, s.Views} }
func (s Subject) before() side { return side{s.Current, s.Served} }

// Finding is what a gate found. Passed is false for a refusal.
type Finding struct {
	Passed      bool
	Error       string   // why not
	Lines       []string // the last ones of the output
	Differences []string // the first ones, if outputs were compared

	Expires expiry.Day // that the command told on its standard output; "" for none
}

// ID identifies the gate, "" for none: after a change of it, its verdicts do not count.
func (g Gate) ID() string {
	if len(g.Command) == 0 {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %t %g", g.Command, g.Compare, g.Changed)
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// Check runs the command. spool is where a long output may lie meanwhile; nothing stays
// there. The error says why there is no finding: the context's cause, or a failure of the
// host such as a full disk.
func (g Gate) Check(ctx context.Context, subject Subject, spool func() (*os.File, error)) (Finding, error) {
	if g.Compare && subject.Current != "" {
		return g.compare(ctx, subject, spool)
	}
	var tail command.Tail
	out := &expiry.Reader{To: &tail}
	err := g.run(ctx, subject, subject.after(), out, &tail)
	if failed := g.failure(ctx, err); failed != nil {
		return Finding{}, failed
	}
	return g.dated(g.finding(err, tail.Lines()), out), nil
}

// dated adds the day that a command told of a revision that it passed. One that tells no
// usable day refuses the revision: nobody knows how long that may be used.
func (g Gate) dated(found Finding, told *expiry.Reader) Finding {
	day, err := told.Close()
	switch {
	case !found.Passed:
	case err != nil:
		found.Passed = false
		found.Error = fmt.Sprintf("the gate %s told no usable day: %v: mend the gate, `syncd activate --again` asks it again", g.Command[0], err)
	default:
		found.Expires = day
	}
	return found
}

// failure is nil if the command itself decided how its run ended.
func (g Gate) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, command.ErrSupervisor) {
		return fmt.Errorf("run the gate %s: %w", g.Command[0], err)
	}
	return nil
}

// run runs the command for one side.
func (g Gate) run(ctx context.Context, subject Subject, of side, stdout, stderr io.Writer) error {
	return command.Command{
		Argv: g.Command, Env: slices.Concat(g.Env, subject.environ(of)),
		Stdout: stdout, Stderr: stderr, Timeout: g.Timeout,
	}.Run(ctx)
}

func (s Subject) environ(of side) []string {
	env := []string{
		"SYNCD_MANIFEST=" + s.Manifest, "SYNCD_RELEASE=" + s.Release, "SYNCD_REVISION=" + s.Revision,
		"SYNCD_PATH=" + of.path, "SYNCD_CURRENT=" + s.Current,
	}
	for name, path := range of.views {
		env = append(env, Variable(name)+"="+path)
	}
	slices.Sort(env)
	return env
}

// Variable is the name of the variable with the path of a view.
func Variable(view string) string {
	return "SYNCD_VIEW_" + strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToUpper(view))
}

// finding is a refusal if the command did not end with status 0.
func (g Gate) finding(err error, lines []string) Finding {
	if err == nil {
		return Finding{Passed: true, Lines: lines}
	}
	text := fmt.Sprintf("the gate %s refused it: %v", g.Command[0], err)
	if _, ok := errors.AsType[*command.ExitError](err); !ok && !errors.Is(err, command.ErrTimeout) {
		text = fmt.Sprintf("the gate %s cannot be run: %v", g.Command[0], err)
	}
	if len(lines) > 0 {
		text += ": " + strings.Join(lines, " / ")
	}
	return Finding{Error: text, Lines: lines}
}
