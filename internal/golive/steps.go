package golive

import (
	"syncd/internal/changes"
	"syncd/internal/golive/rows"
	"syncd/internal/hooks/outbox"
	"syncd/internal/mirror"
)

// steps finds out how revisions differ from those that they replace.
type steps struct{ *Tree }

// toTell returns the changes of the revisions that went live or were staged since hooks
// were told. A commit without such news reads no record.
func (t steps) toTell(r Commit) (map[outbox.Step]changes.Summary, error) {
	notified, err := t.Store.Notified()
	if err != nil {
		return nil, err
	}
	told := map[outbox.Step]changes.Summary{}
	for name, record := range t.Mirror.Current().Records {
		then := notified[name]
		if from := then.Release + "-" + then.Revision; then.Revision != "" && from != record.ID() {
			t.tell(told, r, outbox.Step{Manifest: name, From: from, To: record.ID()}, func() (before, after mirror.Record, err error) {
				before, err = t.Mirror.Records.Revision(name, from)
				return before, record, err
			})
		}
	}
	for name, head := range r.News.Staged {
		served, isServed := t.Mirror.Current().Records[name]
		if isServed && notified[name].Staged != head.ID() {
			t.tell(told, r, outbox.Step{Manifest: name, From: served.ID(), To: head.ID()}, func() (before, after mirror.Record, err error) {
				after, err = t.Staging.Record(t.Staging.Get(name))
				return served, after, err
			})
		}
	}
	return told, nil
}

// tell adds one step: as it was compared before, or by the records. Without the earlier
// record nothing is told.
func (t steps) tell(told map[outbox.Step]changes.Summary, r Commit, step outbox.Step, records func() (before, after mirror.Record, err error)) {
	if compared, known := changes.Find(t.known(step.Manifest, r), step.From, step.To); known {
		told[step] = compared.Summary
		return
	}
	if before, after, err := records(); err == nil {
		told[step] = rows.OfFiles(before, after).Summary
	}
}

// known are the comparisons of a manifest, with those that the commit saves.
func (t steps) known(name string, r Commit) []changes.Compared {
	if state, isSaved := r.Changes.Manifests[name]; isSaved {
		return state.Compared
	}
	states, _ := t.Store.Manifests() // without them, the records are compared
	return states[name].Compared
}
