package syncer

import (
	"context"
	"slices"
	"time"

	"syncd/internal/golive/gate"
	"syncd/internal/hooks/event"
	"syncd/internal/hooks/outbox"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// judgeStaged runs the gates of staged revisions that have no verdict, such as after a
// kill, and with Again those that refused.
func (s *Syncer) judgeStaged(ctx context.Context, names []string, req request.Activate) reasons {
	stay := reasons{}
	for _, name := range names {
		t, e := s.cfg.target(name), s.cfg.Staging.Get(name)
		again := req.Again && e.IsQuarantined()
		if e.Manifest == "" || e.Dropped || !again && (!e.IsStaged() || e.Passes(t.gate(), s.cfg.Mirror.Current().Records[name].ID())) {
			continue
		}
		if t.gate().ID == "" { // it was removed from the configuration
			if _, err := s.cfg.Staging.Judge(e, staging.Verdict{At: time.Now().UTC(), Passed: true}); err != nil {
				stay[name] = err
			}
			continue
		}
		if err := s.judgeEntry(ctx, t, e, again); err != nil {
			stay[name] = err
		}
	}
	return stay
}

func (s *Syncer) judgeEntry(ctx context.Context, t Target, e staging.Entry, again bool) error {
	var p prepared
	asked := false
	err := s.cfg.Shared.change(ctx, func() error {
		record, err := s.cfg.Staging.Record(e)
		if err == nil {
			p, err = s.cfg.prepareGate(ctx, t, record, nil)
		}
		return err
	})
	if err == nil {
		asked, err = s.cfg.judge(ctx, t, p, again)
	}
	if reason := refusal.ReasonOf(err); reason != "" && (asked || reason != refusal.Gate) {
		s.cfg.Metrics.Synced(t.Name, string(report.Refused), string(reason))
		s.noteRefusal(e, err)
	}
	return err
}

// noteRefusal records what a gate said outside of a sync.
func (s *Syncer) noteRefusal(e staging.Entry, err error) {
	served := s.cfg.Mirror.Current()
	record := served.Records[e.Manifest]
	entry := report.HistoryEntry{Time: time.Now().UTC(), Trigger: request.TriggerActivate, Sync: report.Sync{
		Generation: served.Number, Manifests: []report.ManifestResult{{
			Name: e.Manifest, Release: string(record.Release), Revision: record.Revision, Result: report.Refused,
			Reason: string(refusal.ReasonOf(err)), Error: report.OneLine(err.Error()),
		}},
	}}
	refused := s.cfg.problem(event.Refused, e.Manifest, e.Release, err)
	if err := s.cfg.commit(store.Changes{History: entry}, outbox.News{Events: []event.Event{refused}}); err != nil {
		s.cfg.Log.Warn().Err(err).Msg("recording the refusal in the history failed")
	}
}

// prepared is a staged revision that its gate can look at.
type prepared struct {
	entry   staging.Entry
	isNew   bool
	subject gate.Subject
	served  string // ID of the revision that is served then
	objects []shown
}

// prepareGate stages a revision with the views that show it, as they would be after its
// activation. The caller has the turn.
func (c *Config) prepareGate(ctx context.Context, t Target, record mirror.Record, mates []mirror.Record) (p prepared, err error) {
	change := mirror.Change{Set: append([]mirror.Record{record}, c.stagedMates(t.Name, mates)...)}
	current := c.Mirror.Current()
	p.served = current.Records[t.Name].ID()
	p.subject = gate.Subject{
		Manifest: t.Name, Release: string(record.Release), Revision: record.Revision,
		Path: c.Mirror.RevisionPath(record), Views: map[string]string{},
	}
	if served, found := current.Records[t.Name]; found {
		p.subject.Current = c.Mirror.RevisionPath(served)
	}
	views := []mirror.View{}
	for _, v := range c.wantedViews() {
		if !slices.Contains(v.Manifests, t.Name) {
			continue
		}
		made, err := c.arrangeView(v, current, change, c.Shared.Reserved(nil))
		switch {
		case refusal.ReasonOf(err) != "":
			return p, err
		case made != nil:
			views = append(views, *made)
			p.subject.Views[v.Name] = c.Mirror.ViewPath(*made)
		case current.Views[v.Name].Name != "":
			p.subject.Views[v.Name] = c.Mirror.ViewPath(current.Views[v.Name])
		}
	}
	p.objects = c.show(record)
	p.entry, p.isNew, err = c.stage(ctx, record, views)
	return p, err
}

// stagedMates adds what is staged of a manifest's group.
func (c *Config) stagedMates(name string, records []mirror.Record) []mirror.Record {
	for _, mate := range c.groupOf(name) {
		e := c.Staging.Get(mate)
		known := slices.ContainsFunc(records, func(r mirror.Record) bool { return r.Manifest == mate })
		if mate == name || known || !e.IsStaged() {
			continue
		}
		if record, err := c.Staging.Record(e); err == nil {
			records = append(records, record)
		}
	}
	return records
}
