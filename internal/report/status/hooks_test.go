package status

import (
	"strings"
	"testing"
	"time"

	"syncd/internal/report"
	"syncd/internal/store"
)

// outbox is what a state database would return.
type outbox []store.Delivery

func (o outbox) Deliveries() ([]store.Delivery, error) { return o, nil }

var hookTime = time.Date(2026, 11, 1, 4, 0, 0, 0, time.UTC)

func sampleOutbox() outbox {
	return outbox{
		{Hook: "down", ID: "evt_1", At: hookTime, GaveUp: hookTime.Add(time.Hour), Attempts: 9, Error: "old"},
		{Hook: "down", ID: "evt_2", At: hookTime.Add(2 * time.Hour), Attempts: 3, Error: "status 500"},
		{Hook: "down", ID: "evt_3", At: hookTime.Add(3 * time.Hour)},
		{Hook: "left", ID: "evt_0", At: hookTime.Add(-time.Hour)},
	}
}

func TestReadHooksShowsWhatWaitsAndWhy(t *testing.T) {
	configured := []ConfiguredHook{{Name: "down", Receiver: "https://ops.example"}, {Name: "idle"}, {Name: "off"}}
	states := map[string]HookState{"down": {NextTry: hookTime.Add(5 * time.Hour)}, "off": {Disabled: true}}
	hooks, err := Hooks(sampleOutbox(), configured, states)
	if err != nil || len(hooks) != 3 {
		t.Fatalf("%+v, %v", hooks, err)
	}
	down, idle, off := hooks[0], hooks[1], hooks[2]
	if down.Pending != 2 || down.GivenUp != 1 || down.Attempts != 3 || down.Error != "status 500" || !down.OldestAt.Equal(hookTime.Add(2*time.Hour)) || !down.NextTry.Equal(hookTime.Add(5*time.Hour)) {
		t.Errorf("down %+v", down)
	}
	for _, part := range []string{"waiting events: 2", "failed attempts for the oldest: 3", "status 500", "given up: 1"} {
		if !strings.Contains(down.Explanation(), part) {
			t.Errorf("%q lacks %q", down.Explanation(), part)
		}
	}
	if idle.IsFailing() || idle.Explanation() != "" || idle.OldestAt != nil {
		t.Errorf("idle %+v", idle)
	}
	if !off.IsFailing() || !strings.Contains(off.Explanation(), "410") {
		t.Errorf("off %+v", off)
	}
}

func TestReadDeliveriesIsInTheOrderOfTheEvents(t *testing.T) {
	list, err := Deliveries(sampleOutbox(), []string{"down"}, map[string]HookState{"down": {NextTry: hookTime}})
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		id    string
		state report.DeliveryState
		next  bool
	}{{"evt_0", report.DeliveryOrphaned, false}, {"evt_1", report.DeliveryGivenUp, false}, {"evt_2", report.DeliveryPending, true}, {"evt_3", report.DeliveryPending, false}}
	for i, w := range want {
		if d := list.Deliveries[i]; d.ID != w.id || d.State != w.state || (d.NextTry != nil) != w.next {
			t.Errorf("%d: %+v, want %+v", i, d, w)
		}
	}
}
