package rings

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// proof is a ring that waits for three hosts of the canaries, and for 80 % of them.
var proof = Ring{Name: "rest", Delay: 24 * time.Hour, StopAbove: 0.3, AfterShare: 0.8, AfterHosts: 3, MaxWait: 48 * time.Hour}

const serves = "; release=2026.11; revision=0123456789ab"

// newestOnly is a world with one release of one manifest, which a ring must be proven.
func newestOnly(t *testing.T) *world {
	w := newWorld(t, canary, proof)
	w.served["data"] = w.served["data"][1:]
	delete(w.served, "more")
	return w
}

func TestARingBeginsByProof(t *testing.T) {
	w := newestOnly(t)
	for n := range 4 {
		w.poll("canary", n, takes)
	}
	w.time = start.Add(24 * time.Hour)
	for n := range 4 {
		w.poll("canary", n, takes)
	}
	w.wants("after the delay, without a proof", w.poll("rest", 1, takes))
	w.poll("canary", 0, serves)
	w.poll("canary", 1, serves)
	w.poll("canary", 2, serves)
	w.wants("three of four", w.poll("rest", 1, takes))
	w.poll("canary", 3, serves+"; probe=pending")
	w.wants("a probe that has no verdict", w.poll("rest", 1, takes))
	w.poll("canary", 3, serves+"; probe=failed")
	w.wants("a probe that failed", w.poll("rest", 1, takes))
	w.poll("canary", 3, serves+"; probe=proven")
	w.wants("proven", w.poll("rest", 1, takes), newest)
	must(t, w.Save())
	w.restart(canary, proof)
	w.time = w.time.Add(48 * time.Hour)
	w.Advance()
	w.wants("the proof stays, whatever becomes of the hosts", w.poll("rest", 2, takes), newest)
}

// A host is killed while a ring downloads: the ring goes on seeing the release, and nothing is
// fetched twice.
func TestARingThatBeganOutlivesAKill(t *testing.T) {
	w := newWorld(t, canary, Ring{Name: "rest", AfterHosts: 1, MaxWait: 48 * time.Hour})
	w.served["data"] = w.served["data"][1:]
	w.poll("canary", 1, serves)
	w.wants("proven", w.poll("rest", 1, takes), newest)
	w.restart(w.rings...) // nothing else was saved
	w.wants("after the kill", w.poll("rest", 1, takes), newest)
}

func TestAProofBeforeTheDelayCountsAfterIt(t *testing.T) {
	w := newWorld(t, canary, proof)
	for n := range 3 {
		w.poll("canary", n, serves)
	}
	w.wants("before the delay", w.poll("rest", 1, takes))
	w.time = start.Add(24 * time.Hour)
	w.Advance()
	w.wants("after the delay", w.poll("rest", 1, takes), newest)
}

// All canaries are down: nothing goes on, and an operator is told.
func TestSilentCanariesPromoteNothing(t *testing.T) {
	w := newestOnly(t)
	for n := range 3 {
		w.poll("canary", n, takes)
	}
	w.time = start.Add(71 * time.Hour)
	w.Advance()
	w.wants("silent", w.poll("rest", 1, takes))
	waiting := w.Waiting()
	if len(waiting) != 1 || waiting[0].Overdue || waiting[0].Of != 0 || !waiting[0].Since.Equal(start.Add(24*time.Hour)) || len(w.Overdue()) != 0 {
		t.Fatalf("%+v", waiting)
	}
	w.time = start.Add(72 * time.Hour)
	overdue := w.Overdue()
	if len(overdue) != 1 {
		t.Fatalf("%+v", overdue)
	}
	must(t, w.Told(overdue[0]))
	w.restart(canary, proof)
	if len(w.Overdue()) != 0 || !w.Waiting()[0].Overdue {
		t.Error("told twice, or the wait ended")
	}
	w.wants("after max_wait", w.poll("rest", 1, takes))

	// Neither replaced bytes nor a newer release begin the operator's wait anew.
	w.replaceBytes("111111111111")
	w.time = w.time.Add(25 * time.Hour)
	if waiting := w.Waiting(); len(waiting) != 1 || waiting[0].Revision != "111111111111" || !waiting[0].Overdue {
		t.Errorf("%+v", waiting)
	}
	if _, err := w.Approve(newest); err != nil {
		t.Fatal(err)
	}
	w.wants("let go", w.poll("rest", 1, takes), newest, newest)
	if waiting := w.Waiting(); len(waiting) != 0 {
		t.Errorf("%+v", waiting)
	}
}

func TestReplacedBytesAreProvenAnew(t *testing.T) {
	const second = "111111111111"
	w := newWorld(t, canary, proof)
	w.served["data"] = w.served["data"][1:]
	part := serves[:len(serves)-12] + "aaaaaaaaaaaa" // a host with filters, which the new bytes do not concern
	told := []string{serves, serves, serves, part}
	all := func() {
		for n, text := range told {
			w.poll("canary", n, text)
		}
	}
	all()
	all()
	w.time = start.Add(24 * time.Hour)
	if got := w.sees("rest", 1, takes); got != "0123456789ab" {
		t.Fatalf("sees %q", got)
	}
	w.replaceBytes(second)
	w.time = w.time.Add(24 * time.Hour)
	all()
	if got := w.sees("rest", 1, takes); got != "0123456789ab" {
		t.Errorf("the proof of the bytes before counts: sees %q", got)
	}
	for n := range 3 {
		told[n] = "; release=2026.11; revision=" + second
	}
	all()
	if got := w.sees("rest", 1, takes); got != second {
		t.Errorf("sees %q", got)
	}
}

// An ID that makes up hosts neither promotes a release nor holds it up for longer than its vote
// weighs, and does not hide the others in a stop.
func TestInventedHostsWeighOneVote(t *testing.T) {
	w := newWorld(t, canary, proof)
	evil := func(n int, told string) {
		w.Seen(w.Asker("evil", "canary", http.Header{HeaderState: {fmt.Sprintf("host=e%d; id=1%s", n, told)}}), "data")
	}
	for n := range 4 {
		w.poll("canary", n, takes)
	}
	w.time = start.Add(24 * time.Hour)
	for n := range 500 {
		evil(n, serves)
	}
	w.wants("invented hosts that serve it", w.poll("rest", 1, takes))
	for n := range 500 {
		evil(n, refuses)
	}
	if stops := w.Status().Stopped; len(stops) != 0 {
		t.Errorf("one ID of five stops above 30 %%: %+v", stops)
	}
	for n := range 4 {
		w.poll("canary", n, serves)
	}
	w.wants("four of five IDs", w.poll("rest", 1, takes), newest)

	w.poll("canary", 0, refuses)
	stops := w.Status().Stopped
	if len(stops) != 1 || len(stops[0].Hosts) > maxNamed {
		t.Fatalf("%+v", stops)
	}
	found := false
	for _, h := range stops[0].Hosts {
		found = found || h == "canary-0/h0"
	}
	if !found {
		t.Errorf("%v", stops[0].Hosts)
	}
}

// Rings that get `after` go on seeing what their hosts took.
func TestAfterHidesNothingThatARingHas(t *testing.T) {
	w := newWorld(t, canary, rest)
	w.time = start.Add(24 * time.Hour)
	w.poll("rest", 1, takes)
	w.poll("rest", 1, serves)
	w.Configure([]Ring{canary, proof}, w.most)
	w.wants("another host", w.poll("rest", 2, takes), newest)
	must(t, w.Save())
	w.restart(canary, proof)
	w.wants("after a restart", w.poll("rest", 3, takes), newest)

	// A host that moves between rings brings nothing with it.
	moved := newestOnly(t)
	moved.poll("canary", 1, serves)
	moved.time = start.Add(24 * time.Hour)
	moved.Seen(moved.Asker("canary-1", "rest", http.Header{HeaderState: {"host=h1; id=1; version=1" + serves}}), "data")
	moved.Configure([]Ring{canary, proof}, moved.most)
	moved.wants("moved", moved.poll("rest", 2, takes))
	if got := moved.Waiting(); len(got) != 1 || got[0].Text(start) == "" || got[0].Ring != "rest" {
		t.Errorf("%+v", got)
	}
}

// Rings that get other names go on with nothing that only hosts of the first ring took, and not
// with what was stopped.
func TestRenamedRingsLetNothingGoOn(t *testing.T) {
	named := func(r Ring, name string) Ring { r.Name = name; return r }
	w := newestOnly(t)
	w.poll("canary", 1, takes)
	w.poll("canary", 1, serves)
	renamed := []Ring{named(canary, "first"), named(proof, "second")}
	w.Configure(renamed, w.most)
	w.wants("within its delay, without a proof", w.poll("second", 1, takes))
	for n := range 3 {
		w.poll("first", n, serves)
	}
	w.time = start.Add(24 * time.Hour)
	w.wants("proven by the hosts under the new name", w.poll("second", 1, takes), newest)

	stopped := newWorld(t, canary, rest, last)
	stopped.poll("canary", 1, refuses)
	stopped.time = start.Add(48 * time.Hour)
	stopped.Configure([]Ring{named(canary, "first"), named(rest, "second"), named(last, "third")}, stopped.most)
	stopped.wants("the middle ring", stopped.poll("second", 1, takes), oldest)
	stopped.wants("the last ring", stopped.poll("third", 1, takes), oldest)
}
