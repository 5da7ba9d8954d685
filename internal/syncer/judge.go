package syncer

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"syncd/internal/disk/space"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
)

// judge has the gate look at the revision of a complete job. The revision is staged
// before, so that a crash loses neither the revision nor that it was not judged yet.
func (r *run) judge(ctx context.Context, j *job) {
	if !j.awaitsGate() || ctx.Err() != nil {
		return
	}
	r.progress.SetPhase(j.target.Name, report.PhaseGating)
	var p prepared
	err := r.cfg.Shared.change(ctx, func() (err error) {
		if r.recheck(j); !j.open() {
			return nil
		}
		record := r.recordOf(j, time.Now().UTC())
		if j.served && slices.EqualFunc(record.Files, j.active.Files, sameContent) && record.ID() == j.active.ID() {
			return nil
		}
		p, err = r.cfg.prepareGate(ctx, j.target, record, r.mates(j))
		j.newlyStaged = p.isNew
		return err
	})
	asked := false
	if err == nil && p.entry.Manifest != "" {
		asked, err = r.cfg.judge(ctx, j.target, p, false)
	}
	switch {
	case ctx.Err() != nil:
	case refusal.ReasonOf(err) == refusal.Gate && !asked: // hooks were told
		j.repeat(report.Refused, err)
	case err != nil:
		j.fail(err)
	default:
		j.passGate()
	}
}

// mates returns the records of what would go live together with a job: of other complete
// jobs of its group.
func (r *run) mates(j *job) (records []mirror.Record) {
	group := r.cfg.groupOf(j.target.Name)
	for _, other := range r.jobs {
		if other != j && slices.Contains(group, other.target.Name) && other.isComplete() {
			records = append(records, r.recordOf(other, time.Now().UTC()))
		}
	}
	return records
}

// judge runs the gate, unless a verdict is known already, and makes the verdict durable.
// asked is true if the verdict comes from this call. The error is a refusal, or why there
// is no verdict. again asks a gate that refused the revision once more. A gate that runs
// for the manifest ends first, and its verdict counts. The caller must not have the turn.
func (c *Config) judge(ctx context.Context, t Target, p prepared, again bool) (asked bool, err error) {
	gating, err := c.Shared.gating.Take(ctx, []string{t.Name})
	if err != nil {
		return false, err
	}
	defer gating.Close()
	entry := c.Staging.Get(t.Name)
	if entry.ID() != p.entry.ID() { // it went live or was replaced meanwhile
		return false, nil
	}
	if known := entry.Judged(t.gate(), p.served); known != nil && (known.Passed || !again || known != p.entry.Verdict) {
		return false, refusedBy(*known)
	}
	if err := c.Shared.gates.Acquire(ctx, 1); err != nil {
		return false, context.Cause(ctx)
	}
	defer c.Shared.gates.Release(1)
	found, err := t.Gate.Check(ctx, p.subject, c.spool)
	if err != nil {
		return false, space.RefuseIfFull(err)
	}
	if err := c.dropChanged(ctx, t, p); err != nil {
		return true, err
	}
	verdict := staging.Verdict{
		Gate: t.Gate.ID(), At: time.Now().UTC(), Passed: found.Passed, Error: report.OneLine(c.Redact(found.Error)),
		Lines: c.oneLines(found.Lines), Differences: c.oneLines(found.Differences),
	}
	if t.Gate.Compare {
		verdict.Against = p.served
	}
	if _, err := c.Staging.Judge(entry, verdict); err != nil {
		return false, err
	}
	return true, refusedBy(verdict)
}

func refusedBy(v staging.Verdict) error {
	if v.Passed {
		return nil
	}
	return refusal.New(refusal.Gate, "%s", v.Error)
}

func (c *Config) oneLines(lines []string) []string {
	shown := make([]string, len(lines))
	for i, line := range lines {
		shown[i] = report.OneLine(c.Redact(line))
	}
	return shown
}

// spool opens a file without a name, for the output of a gate.
func (c *Config) spool() (*os.File, error) {
	f, err := os.CreateTemp(c.Mirror.Root().Path("state"), ".tmp-gate-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// barriers let the gates of a group wait until all its manifests of a wave are complete,
// so that a view shows the new files of all.
func (r *run) barriers(jobs []*job) map[*job]*sync.WaitGroup {
	byGroup := map[string]*sync.WaitGroup{}
	of := make(map[*job]*sync.WaitGroup, len(jobs))
	for _, j := range jobs {
		first := r.cfg.groupOf(j.target.Name)[0]
		if byGroup[first] == nil {
			byGroup[first] = &sync.WaitGroup{}
		}
		byGroup[first].Add(1)
		of[j] = byGroup[first]
	}
	return of
}

// dropWithdrawn removes what is staged of manifests for which the provider offers the
// served revision again.
func (r *run) dropWithdrawn(jobs []*job) {
	for _, j := range jobs {
		e := r.cfg.Staging.Get(j.target.Name)
		if !j.withdrawn || e.Manifest == "" {
			continue
		}
		r.cfg.Log.Warn().Str("manifest", j.target.Name).Str("release", string(e.Release)).Msg("dropped the staged revision, because the served one is the newest again")
		r.forgetStaged(j.target.Name)
	}
}

func (r *run) forgetStaged(name string) {
	if err := r.cfg.Staging.Remove(name); err != nil {
		r.cfg.Log.Warn().Err(err).Str("manifest", name).Msg("removing what was staged failed; the next start tries again")
	}
	r.cfg.Shared.room.RequestPrune()
}
