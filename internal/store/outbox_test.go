package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func delivery(hook, id string) Delivery {
	return Delivery{Hook: hook, ID: id, Event: "activated", Manifest: "m", Body: json.RawMessage(`{"a":1}`), At: time.Unix(1, 0).UTC(), Since: time.Unix(1, 0).UTC()}
}

// add appends deliveries and returns the IDs of those that were given up for them.
func add(t *testing.T, s *Store, deliveries ...Delivery) (givenUp []string) {
	t.Helper()
	err := s.Update(func(o *Outbox) error {
		for _, d := range deliveries {
			gone, err := o.Append(d)
			if err != nil {
				return err
			}
			for _, g := range gone {
				givenUp = append(givenUp, g.ID)
			}
		}
		return nil
	})
	must(t, err)
	return givenUp
}

// next is the ID of a hook's next delivery, "" for none.
func next(t *testing.T, s *Store, hook string) string {
	t.Helper()
	d, found, err := s.NextDelivery(hook)
	if err != nil || found == (d.ID == "") {
		t.Fatalf("next %+v, %v, %v", d, found, err)
	}
	return d.ID
}

func TestDeliveriesKeepTheirOrderForEachHook(t *testing.T) {
	path := newPath(t)
	s := mustOpen(t, path)
	if got := next(t, s, "a"); got != "" {
		t.Errorf("next of an empty outbox %q", got)
	}
	add(t, s, delivery("a", "1"), delivery("b", "1"), delivery("ab", "1"), delivery("a", "2"))
	must(t, s.Close())
	s = mustOpen(t, path)
	for _, want := range []string{"1", "2", ""} {
		if got := next(t, s, "a"); got != want {
			t.Errorf("next %q, want %q", got, want)
		}
		d, _, _ := s.NextDelivery("a")
		must(t, s.Update(func(o *Outbox) error { return o.Remove(d) }))
	}
	all, err := s.Deliveries()
	if err != nil || len(all) != 2 || all[0].Hook != "ab" || all[1].Hook != "b" {
		t.Errorf("left %+v, %v", all, err)
	}
	want := delivery("b", "1")
	want.Number = 2
	same(t, want, all[1])
}

func TestADeliveryThatWasGivenUpHoldsUpNone(t *testing.T) {
	s := mustOpen(t, newPath(t))
	add(t, s, delivery("a", "1"), delivery("a", "2"))
	d, _, _ := s.NextDelivery("a")
	d.GaveUp = time.Unix(2, 0).UTC()
	must(t, s.Update(func(o *Outbox) error { return o.GiveUp(d) }))
	if got := next(t, s, "a"); got != "2" {
		t.Errorf("next %q", got)
	}
}

func TestADeliveryThatWasRemovedStaysRemoved(t *testing.T) {
	s := mustOpen(t, newPath(t))
	add(t, s, delivery("a", "1"))
	d, _, _ := s.NextDelivery("a")
	err := s.Update(func(o *Outbox) error { return errors.Join(o.Remove(d), o.Save(d), o.GiveUp(d)) })
	if err != nil || next(t, s, "a") != "" {
		t.Errorf("the delivery is back, %v", err)
	}
}

func TestTheOutboxIsBounded(t *testing.T) {
	s := mustOpen(t, newPath(t))
	add(t, s, delivery("other", "1"))
	var givenUp []string
	var many []Delivery
	for i := range MaxPending + 2*maxGivenUp {
		many = append(many, delivery("a", fmt.Sprint(i)))
	}
	givenUp = add(t, s, many...)
	all, err := s.Deliveries()
	if err != nil || len(all) != 1+MaxPending+maxGivenUp {
		t.Fatalf("%d deliveries, %v", len(all), err)
	}
	if len(givenUp) != 2*maxGivenUp || givenUp[0] != "0" {
		t.Errorf("%d given up, first %v", len(givenUp), givenUp[:1])
	}
	if got := next(t, s, "a"); got != fmt.Sprint(2*maxGivenUp) {
		t.Errorf("next %s", got)
	}
	if first := all[0]; first.ID != fmt.Sprint(maxGivenUp) || first.GaveUp.IsZero() || first.Error == "" {
		t.Errorf("oldest %+v", first)
	}
	if got := next(t, s, "other"); got != "1" {
		t.Errorf("next of the other hook %q", got)
	}
}

func TestTheOutboxIsBoundedInBytes(t *testing.T) {
	s := mustOpen(t, newPath(t))
	large := delivery("a", "large")
	large.Body = json.RawMessage(`"` + strings.Repeat("x", maxPendingBytes) + `"`)
	if gone := add(t, s, delivery("a", "1"), large); len(gone) != 1 || gone[0] != "1" {
		t.Errorf("given up %q", gone)
	}
	if got := next(t, s, "a"); got != "large" {
		t.Errorf("the newest delivery was given up, next is %q", got)
	}
}

func TestWhatHappenedAndItsEventAreSavedTogether(t *testing.T) {
	s := mustOpen(t, newPath(t))
	broken := errors.New("broken")
	change := func(o *Outbox) error {
		_, err := o.Append(delivery("a", "1"))
		return errors.Join(err, o.SetNotified("m", Notified{Release: "2026.10"}), broken)
	}
	err := s.Commit(Changes{Manifests: map[string]Manifest{"m": {SyncedAt: time.Unix(1, 0)}}, Outbox: change})
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	manifests, _ := s.Manifests()
	told, _ := s.Notified()
	if len(manifests) != 0 || len(told) != 0 || next(t, s, "a") != "" {
		t.Errorf("half of the transaction was saved: %v, %v", manifests, told)
	}
}

func TestToldIsKeptAndRemoved(t *testing.T) {
	path := newPath(t)
	s := mustOpen(t, path)
	set := func(told Notified) {
		t.Helper()
		must(t, s.Update(func(o *Outbox) error { return o.SetNotified("m", told) }))
	}
	want := Notified{Release: "2026.10", Revision: "abc", Stale: true}
	set(want)
	s.Close()
	s = mustOpen(t, path)
	if told, err := s.Notified(); err != nil || told["m"] != want {
		t.Errorf("told %+v, %v", told, err)
	}
	set(Notified{})
	if told, err := s.Notified(); err != nil || len(told) != 0 {
		t.Errorf("told %+v, %v", told, err)
	}
}

func TestADamagedDeliveryIsFoundWhenTheFileIsOpened(t *testing.T) {
	for name, put := range map[string]func(*Outbox) error{
		"key":  func(o *Outbox) error { return o.tx.Bucket(bucketOutbox).Put([]byte("short"), []byte("{}")) },
		"JSON": func(o *Outbox) error { return o.tx.Bucket(bucketOutbox).Put(deliveryKey("a", 1), []byte("{")) },
		"told": func(o *Outbox) error {
			return errors.Join(o.SetNotified("m", Notified{Stale: true}), o.tx.Bucket(bucketNotified).Put([]byte("m"), []byte("{")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			s := mustOpen(t, path)
			add(t, s, delivery("a", "1"))
			must(t, s.Update(put))
			s.Close()
			if _, note, err := openAt(t, path, time.Minute); err != nil || note == "" {
				t.Errorf("note %q, %v", note, err)
			}
		})
	}
}
