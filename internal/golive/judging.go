package golive

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

// court prepares what gates judge.
type court struct{ *Tree }

func (t court) decide(ctx context.Context, prepared gate.Case, again bool) (asked bool, err error) {
	judge := gate.Judge{Docket: t.docket, Mirror: t.Mirror, Lifespans: t.Lifespans, Staging: t.Staging, Redact: t.Redact, Change: t.Change}
	return judge.Decide(ctx, prepared, again)
}

// Judge has the gate look at the revision of a candidate whose contents are all objects. The
// revision is staged before, so that a crash loses neither the revision nor that it was not
// judged yet. asked is false if the verdict was known before. mates returns the records that
// would go live together with it.
func (t *Tree) Judge(ctx context.Context, c Candidate, mates func() []mirror.Record) (asked bool, err error) {
	var prepared gate.Case
	err = t.Change(ctx, func() (err error) {
		served, isServed := Served(t, c.Target().Name)
		if c.Recheck(served, isServed); !c.IsOpen() {
			return nil
		}
		record := c.Record(time.Now().UTC())
		if isServed && sameFiles(record, served) {
			return nil
		}
		if prepared, err = (court{t}).prepareGate(ctx, c.Target(), record, mates()); err == nil {
			c.Staged(prepared.IsNew)
		}
		return err
	})
	if err != nil || prepared.Staged.Manifest == "" {
		return false, err
	}
	return court{t}.decide(ctx, prepared, false)
}

// judgeStaged runs the gates of staged revisions that have no verdict, such as after a
// kill, and with Again those that refused.
func (t court) judgeStaged(ctx context.Context, names []string, req request.Activate) reasons {
	stay := reasons{}
	for _, name := range names {
		of, e := t.target(name), t.Staging.Get(name)
		expired := aging(t).refusal(headOf(e), t.Mirror.Current().Records[name]) != nil
		again := req.Again && (e.IsQuarantined() || expired)
		if e.Manifest == "" || e.Dropped || !again && (!e.IsStaged() || e.Passes(of.Gate.Identity(), t.Mirror.Current().Records[name].ID())) {
			continue
		}
		var err error
		if of.Gate.ID() == "" { // it was removed from the configuration
			_, err = t.Staging.Judge(e, staging.Verdict{At: time.Now().UTC(), Passed: true})
		} else {
			err = t.judgeEntry(ctx, of, e, again)
		}
		if err != nil {
			stay[name] = err
		}
	}
	return stay
}

func (t court) judgeEntry(ctx context.Context, of Target, e staging.Revision, again bool) error {
	var prepared gate.Case
	asked := false
	err := t.Change(ctx, func() error {
		record, err := t.Staging.Record(e)
		if err == nil {
			prepared, err = t.prepareGate(ctx, of, record, nil)
		}
		return err
	})
	if err == nil {
		asked, err = t.decide(ctx, prepared, again)
	}
	if reason := refusal.ReasonOf(err); reason != "" && (asked || reason != refusal.Gate) {
		t.Metrics.Synced(of.Name, string(report.Refused), string(reason))
		t.noteRefusal(e, err)
	}
	return err
}

// noteRefusal records what a gate said outside of a sync.
func (t court) noteRefusal(e staging.Revision, err error) {
	served := t.Mirror.Current()
	entry := EntryOf(request.TriggerActivate, time.Now(), report.Sync{
		Generation: served.Number, Manifests: []report.ManifestResult{StayResult(served.Records[e.Manifest], e.Manifest, string(e.Release), err)},
	})
	refused := t.Problem(event.Refused, e.Manifest, e.Release, err)
	if err := t.Commit(Commit{Changes: store.Changes{History: entry}, News: outbox.News{Events: []event.Event{refused}}}); err != nil {
		t.Log.Warn().Err(err).Msg("recording the refusal in the history failed")
	}
}

// prepareGate stages a revision with the views that show it, as they would be after its
// activation. The caller has the turn.
func (t court) prepareGate(ctx context.Context, of Target, record mirror.Record, mates []mirror.Record) (c gate.Case, err error) {
	change := mirror.Change{Set: append([]mirror.Record{record}, t.stagedMates(of.Name, mates)...)}
	current := t.Mirror.Current()
	served, isServed := current.Records[of.Name]
	c = gate.Case{Gate: of.Gate, Served: served.ID(), Subject: gate.Subject{
		Manifest: of.Name, Release: string(record.Release), Revision: record.Revision,
		Path: t.Mirror.Trees.RevisionPath(record), Views: map[string]string{}, Served: map[string]string{},
	}}
	if isServed {
		c.Subject.Current = t.Mirror.Trees.RevisionPath(served)
	}
	after := subjectViews{court: t, paths: c.Subject.Views}
	before := subjectViews{court: t, paths: c.Subject.Served}
	for _, v := range t.ConfiguredViews() {
		if !slices.Contains(v.Manifests, of.Name) {
			continue
		}
		if err := after.add(v, current, change); err != nil {
			return c, err
		}
		if !of.Gate.Compare || !isServed {
			continue
		}
		if served, isShown := current.Views[v.Name]; isShown {
			before.paths[v.Name] = t.Mirror.Trees.ViewPath(served)
		} else if err := before.add(v, current, mirror.Change{}); err != nil { // a new view
			return c, err
		}
	}
	c.Objects = gate.Show(t.Mirror, record)
	views := append(append([]mirror.View{}, after.made...), before.made...)
	c.Staged, c.IsNew, err = t.stage(ctx, record, views, "")
	return c, err
}

// subjectViews are the views that one run of a gate sees.
type subjectViews struct {
	court
	made  []mirror.View     // to be staged
	paths map[string]string // by name
}

// add adds a view as it is after a change. One that cannot be made stays as it is.
func (s *subjectViews) add(v ConfiguredView, current mirror.Generation, change mirror.Change) error {
	made, err := s.arrange(v, current, change, s.room.Reserved(nil))
	switch {
	case refusal.ReasonOf(err) != "":
		return err
	case made != nil:
		s.made = append(s.made, *made)
		s.paths[v.Name] = s.Mirror.Trees.ViewPath(*made)
	case current.Views[v.Name].Name != "":
		s.paths[v.Name] = s.Mirror.Trees.ViewPath(current.Views[v.Name])
	}
	return nil
}

// stagedMates adds what is staged of a manifest's group.
func (t court) stagedMates(name string, records []mirror.Record) []mirror.Record {
	for _, mate := range t.Groups.Of(name) {
		e := t.Staging.Get(mate)
		known := slices.ContainsFunc(records, func(r mirror.Record) bool { return r.Manifest == mate })
		if mate == name || known || !e.IsStaged() {
			continue
		}
		if record, err := t.Staging.Record(e); err == nil {
			records = append(records, record)
		}
	}
	return records
}
