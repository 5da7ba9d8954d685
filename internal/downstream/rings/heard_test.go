package rings

import (
	"os"
	"testing"
	"time"
)

// fourCanaries are what a file of ids names.
var fourCanaries = map[string]string{"canary-0": "canary", "canary-1": "canary", "canary-2": "canary", "canary-3": "canary", "rest-1": "rest"}

// lose restarts without the state.
func (w *world) lose(rings ...Ring) {
	w.t.Helper()
	must(w.t, w.store.Close())
	must(w.t, os.Remove(w.path))
	w.open(rings...)
}

// A host loses its state file. The first id that asks is not the whole ring: it neither lets a
// release go on nor stops it.
func TestTheFirstIDAfterALostStateIsNotTheWholeRing(t *testing.T) {
	soon := Ring{Name: "rest", StopAbove: 0.3, AfterShare: 0.5, AfterHosts: 1, MaxWait: 48 * time.Hour}
	w := newWorld(t, canary, soon)
	w.ids = fourCanaries
	w.served["data"] = w.served["data"][1:]
	w.restart(canary, soon)
	for n := range 2 {
		w.poll("canary", n, serves)
	}
	w.wants("two of four", w.poll("rest", 1, takes), newest)
	must(t, w.Save())
	w.lose(canary, soon)
	w.Advance()
	w.wants("without the state", w.poll("rest", 1, takes))
	w.poll("canary", 0, serves)
	w.wants("the first of four", w.poll("rest", 1, takes))
	w.poll("canary", 0, refuses)
	if stops := w.Status().Stopped; len(stops) != 0 {
		t.Errorf("the first of four stops above 30 %%: %+v", stops)
	}
	must(t, w.Save())
	w.restart(canary, soon)
	w.time = w.time.Add(gatherFor - time.Second)
	w.Advance()
	w.poll("canary", 0, refuses)
	w.wants("a day less a second, with a restart", w.poll("rest", 1, takes))
	if stops := w.Status().Stopped; len(stops) != 0 {
		t.Errorf("after a restart: %+v", stops)
	}
	w.poll("canary", 0, serves)
	w.poll("canary", 1, serves)
	w.wants("the second of four", w.poll("rest", 1, takes), newest)
}

// Ids that never ask hold up a ring for a day.
func TestIDsThatNeverAskCountForADay(t *testing.T) {
	w := newWorld(t, canary, proof)
	w.ids = fourCanaries
	w.served["data"] = w.served["data"][1:]
	w.restart(canary, proof)
	for n := range 3 {
		w.poll("canary", n, serves)
	}
	w.time = start.Add(gatherFor - time.Second)
	w.Advance()
	w.wants("the delay is over, but the day is not", w.poll("rest", 1, takes))
	w.time = start.Add(gatherFor)
	w.Advance()
	w.wants("after a day", w.poll("rest", 1, takes), newest)

	// All ids stop asking for longer than a schedule takes: what was heard begins anew.
	w.replaceBytes("111111111111")
	w.time = w.time.Add(silentAfter + time.Hour)
	w.Advance()
	w.poll("canary", 0, "; release=2026.11; revision=111111111111")
	w.poll("canary", 0, "; release=2026.11; revision=111111111111")
	w.wants("the first after silence", w.poll("rest", 1, takes), newest)
	w.time = w.time.Add(forgetAfter + time.Second)
	w.Forget()
	if len(w.heard) != 0 {
		t.Errorf("%+v", w.heard)
	}
}

// A command does not read the file of ids. It decides nothing from the first reports.
func TestACommandDoesNotKnowTheIDs(t *testing.T) {
	third := Ring{Name: "rest", StopAbove: 0.3}
	w := newWorld(t, canary, third)
	w.ids = fourCanaries
	w.restart(canary, third)
	w.poll("canary", 0, refuses)
	must(t, w.Save())
	command, err := New(catalog{w.served, w}, w.store, w.most, w.log)
	must(t, err)
	command.now = w.now
	command.Configure([]Ring{canary, third}, w.most)
	if stopped := command.Stopped(); stopped["rest"] != 0 {
		t.Errorf("%v", stopped)
	}
	w.Name(map[string]string{"canary-0": "canary"})
	w.Configure([]Ring{canary, third}, w.most)
	if stopped := w.Stopped(); stopped["rest"] != 1 {
		t.Errorf("one of one: %v", stopped)
	}
}

// An earlier syncd saved reports alone: its rings had their day.
func TestAStateOfAnEarlierSyncdHasHeardItsRings(t *testing.T) {
	w := newWorld(t, canary, proof)
	w.ids = fourCanaries
	w.served["data"] = w.served["data"][1:]
	w.restart(canary, proof)
	for n := range 3 {
		w.poll("canary", n, serves)
	}
	must(t, w.Save())
	must(t, w.store.SetFleet(map[string]any{heardKey(place{"canary", "data"}): nil, heardKey(place{"rest", "data"}): nil}))
	w.restart(canary, proof)
	for n := range 3 {
		w.poll("canary", n, serves)
	}
	if p := (place{"canary", "data"}); w.expected(p, w.time) != 0 {
		t.Errorf("%+v", w.heard[p])
	}
}
