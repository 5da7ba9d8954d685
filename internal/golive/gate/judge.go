package gate

import (
	"context"
	"os"
	"time"

	"golang.org/x/sync/semaphore"

	"syncd/internal/disk/space"
	"syncd/internal/host/claims"
	"syncd/internal/mirror"
	"syncd/internal/mirror/lifespan"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
)

// maxGates is how many gates run at once. Each may read a whole revision.
const maxGates = 4

// Docket is what all Judges of a data directory share: the gates that run. Safe for
// concurrent use.
type Docket struct {
	gating claims.Set          // manifests whose gate runs, or waits to run
	gates  *semaphore.Weighted // that run
}

// NewDocket returns a Docket without gates that run.
func NewDocket() *Docket { return &Docket{gates: semaphore.NewWeighted(maxGates)} }

// Judge runs gates and makes their verdicts durable. Safe for concurrent use.
type Judge struct {
	*Docket
	Mirror    *mirror.Mirror
	Lifespans *lifespan.Register
	Staging   *staging.Area                                    // of Mirror
	Redact    func(string) string                              // removes the Customer ID from the output of a gate
	Change    func(ctx context.Context, do func() error) error // runs work that changes the tree, one at a time
}

// Case is a staged revision that its gate can look at.
type Case struct {
	Gate    Gate
	Staged  staging.Revision
	IsNew   bool // it was not staged before
	Subject Subject
	Served  string // ID of the revision that is served then
	Objects []Shown
}

// Identity is the gate as its verdicts name it.
func (g Gate) Identity() staging.Gate { return staging.Gate{ID: g.ID(), Compares: g.Compare} }

// Decide runs the gate, unless a verdict is known already, and makes the verdict durable.
// asked is true if the verdict comes from this call. The error is a refusal, or why there
// is no verdict. again asks a gate once more that refused the revision, or told a day that is
// past. A gate that runs
// for the manifest ends first, and its verdict counts. The caller must not have the turn.
func (j Judge) Decide(ctx context.Context, c Case, again bool) (asked bool, err error) {
	name := c.Subject.Manifest
	gating, err := j.gating.Take(ctx, []string{name})
	if err != nil {
		return false, err
	}
	defer gating.Close()
	entry := j.Staging.Get(name)
	if entry.ID() != c.Staged.ID() { // it went live or was replaced meanwhile
		return false, nil
	}
	if known := entry.Judged(c.Gate.Identity(), c.Served); known != nil && (!again || known != c.Staged.Verdict) {
		return false, known.Refusal()
	}
	if err := j.gates.Acquire(ctx, 1); err != nil {
		return false, context.Cause(ctx)
	}
	defer j.gates.Release(1)
	found, err := c.Gate.Check(ctx, c.Subject, j.spool)
	if err != nil {
		return false, space.RefuseIfFull(err)
	}
	if err := j.dropChanged(ctx, c); err != nil {
		return true, err
	}
	verdict := j.verdict(c, found)
	if verdict.Expires != "" { // before the verdict, so that a crash between the two asks the gate again
		if err := j.Lifespans.Tell(name, entry.ID(), verdict.Expires); err != nil {
			return false, space.RefuseIfFull(err)
		}
	}
	if _, err := j.Staging.Judge(entry, verdict); err != nil {
		return false, err
	}
	return true, verdict.Refusal()
}

func (j Judge) verdict(c Case, found Finding) staging.Verdict {
	verdict := staging.Verdict{
		Gate: c.Gate.ID(), At: time.Now().UTC(), Passed: found.Passed, Error: report.OneLine(j.Redact(found.Error)),
		Lines: j.oneLines(found.Lines), Differences: j.oneLines(found.Differences), Expires: found.Expires,
	}
	if c.Gate.Compare {
		verdict.Against = c.Served
	}
	return verdict
}

func (j Judge) oneLines(lines []string) []string {
	shown := make([]string, len(lines))
	for i, line := range lines {
		shown[i] = report.OneLine(j.Redact(line))
	}
	return shown
}

// spool opens a file without a name, for the output of a gate.
func (j Judge) spool() (*os.File, error) {
	f, err := os.CreateTemp(j.Mirror.Root().Path("state"), ".tmp-gate-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
