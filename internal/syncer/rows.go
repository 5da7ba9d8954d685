package syncer

import (
	"context"
	"fmt"
	"time"

	"syncd/internal/changes"
	"syncd/internal/golive"
	"syncd/internal/golive/rows"
	"syncd/internal/report"
)

// compareRows compares the rows of a complete revision with the served ones, if the
// configuration wants that, and refuses the revision if too many are gone. The result is
// kept, so that a refused revision is not read again by each retry.
func (r *run) compareRows(ctx context.Context, j *job) error {
	served, isServed := golive.Served(r.tree, j.target.Name)
	if !isServed || !j.target.Rows.Compares() {
		return nil
	}
	record := (&candidate{asking{r, j}}).Record(time.Now().UTC())
	if record.ID() == served.ID() {
		return nil
	}
	r.progress.SetPhase(j.target.Name, report.PhaseComparing)
	ctx, span := j.startSpan(ctx, "rows")
	compared, err := r.tree.Rows().Compare(ctx, rows.Case{Mirror: r.cfg.Mirror, Served: served, Next: record, Rule: j.target.Rows, Known: j.state.Compared})
	if err != nil {
		err = fmt.Errorf("compare the rows of release %s with the served ones: %w", j.release, err)
	} else {
		j.state.Compared = changes.Keep(j.state.Compared, compared)
		err = j.entry.CheckRows(j.target.Rows, compared, served)
	}
	span.End(err)
	return err
}
