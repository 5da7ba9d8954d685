package golive

import (
	"fmt"
	"time"

	"syncd/internal/golive/probe"
	"syncd/internal/mirror"
)

// trials begins the trials of an application.
type trials struct{ *application }

// begin makes the trials of a change durable, before its swap. It returns the IDs of their
// revisions, by manifest.
func (a trials) begin() (ids map[string]string, err error) {
	before, t := a.outcome.Before.Records, a.tree
	changed := map[string]probe.Swapped{}
	for _, r := range a.outcome.Change.Set {
		if was, isServed := before[r.Manifest]; was.ID() != r.ID() {
			changed[r.Manifest] = probe.Swapped{ID: r.ID()}
			if isServed {
				changed[r.Manifest] = probe.Swapped{ID: r.ID(), Back: was.ID()}
			}
		}
	}
	ids = map[string]string{}
	for _, r := range a.outcome.Change.Set {
		swapped, isChanged := changed[r.Manifest]
		undone, isUndone := a.proposal.Undone[r.Manifest]
		hasProbe := t.Targets.Find(r.Manifest).Probe.IsSet()
		if !isChanged || !isUndone && !hasProbe {
			continue
		}
		trial := probe.Trial{
			Release: r.Release, Revision: r.Revision, Since: time.Now().UTC(), Previous: before[r.Manifest].Revision, Unasked: !hasProbe,
			Back: swapped.Back, Stays: a.proposal.Stays, With: map[string]probe.Swapped{},
		}
		for _, mate := range t.Groups.Of(r.Manifest) {
			if with, isChanged := changed[mate]; isChanged && mate != r.Manifest {
				trial.With[mate] = with
			}
		}
		if isUndone {
			left := t.Probes.Of(r.Manifest, before[r.Manifest].ID())
			trial.Undone = append([]probe.Undone{undone}, left.Undone...)
			if then := t.Probes.Of(r.Manifest, r.ID()); then.IsWithheld() { // it had no verdict when it was replaced
				trial.Back, trial.With, trial.Stays = then.Back, then.With, false
			}
		}
		if err := t.Probes.Begin(r.Manifest, before[r.Manifest].ID(), trial); err != nil {
			return nil, fmt.Errorf("note the probe of %s: %w", r.Manifest, err)
		}
		ids[r.Manifest] = r.ID()
	}
	return ids, nil
}

// went notes when the revisions went live, and ends the watches of those before them.
func (a trials) went(ids map[string]string) {
	now := time.Now()
	for name, id := range ids {
		if err := a.tree.Probes.Went(name, id, now); err != nil {
			a.tree.Log.Warn().Err(err).Str("manifest", name).Msg("noting when the release went live failed; after a restart its probe may end early")
		}
	}
	for _, r := range a.outcome.Change.Set {
		if a.outcome.Before.Records[r.Manifest].ID() != r.ID() {
			a.tree.probing.Overtake(r.Manifest)
		}
	}
}

// WaysBack returns the revisions to which a probe without a verdict may go back.
func WaysBack(t *Tree) (records []mirror.Record) {
	for name, ids := range t.Probes.Backs() {
		for _, id := range ids {
			if then, err := t.Mirror.Records.Revision(name, id); err == nil { // else there is nothing to keep
				records = append(records, then)
			}
		}
	}
	return records
}
