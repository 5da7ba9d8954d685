package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// Limits of each hook's deliveries. Without them, a receiver that is gone for good would
// fill the disk.
const (
	MaxPending      = 1000    // deliveries that wait
	maxPendingBytes = 2 << 20 // of them, encoded
	maxGivenUp      = 100     // deliveries that were given up and are kept to be seen
)

// Delivery is one event on its way to one hook.
type Delivery struct {
	Hook     string          `json:"-"`
	Number   uint64          `json:"-"`  // deliveries of a hook are made in this order
	ID       string          `json:"id"` // of the event
	Event    string          `json:"event"`
	Manifest string          `json:"manifest"`
	Body     json.RawMessage `json:"body"`
	At       time.Time       `json:"at"`       // of the event
	Since    time.Time       `json:"since"`    // when the time for trying began
	Attempts int             `json:"attempts"` // that failed
	TriedAt  time.Time       `json:"tried_at,omitzero"`
	Error    string          `json:"error,omitempty"`  // of the last attempt
	GaveUp   time.Time       `json:"gave_up,omitzero"` // when it was given up
	Trace    string          `json:"trace,omitempty"`  // that the attempts belong to, by package tracing; "" for none
}

// Notified is the state of a manifest that the events so far describe.
type Notified struct {
	Release  string `json:"release,omitempty"`  // served; "" for none
	Revision string `json:"revision,omitempty"` // served
	Staged   string `json:"staged,omitempty"`   // ID of the revision that waits to go live; "" for none
	Stale    bool   `json:"stale,omitempty"`    // no sync has confirmed it for long
	Aged     string `json:"aged,omitempty"`     // revision, day and kind of the last event about its age; kept while it is withdrawn
}

// Outbox is the outbox within a transaction that changes the state. It keeps what must
// be told with what happened: both are saved, or neither.
type Outbox struct{ tx *bbolt.Tx }

// Notified returns what hooks were notified of, by manifest.
func (o *Outbox) Notified() (map[string]Notified, error) {
	return allIn[Notified](o.tx, bucketNotified)
}

// SetNotified saves what hooks were notified of a manifest. The zero Notified removes the entry.
func (o *Outbox) SetNotified(name string, n Notified) error {
	bucket, err := o.tx.CreateBucketIfNotExists(bucketNotified)
	switch {
	case err != nil:
		return err
	case n == Notified{}:
		return bucket.Delete([]byte(name))
	}
	return putJSON(bucket, []byte(name), n)
}

// SyncedAt returns when a manifest was last up to date, as the transaction sees it.
func (o *Outbox) SyncedAt(name string) (time.Time, error) {
	var m Manifest
	data := o.tx.Bucket(bucketManifests).Get([]byte(name))
	if data == nil {
		return time.Time{}, nil
	}
	err := json.Unmarshal(data, &m)
	return m.SyncedAt, err
}

// Append adds a delivery as the last one of its hook. It gives up the oldest ones above
// the limits and returns them.
func (o *Outbox) Append(d Delivery) (givenUp []Delivery, err error) {
	bucket, err := o.tx.CreateBucketIfNotExists(bucketOutbox)
	if err != nil {
		return nil, err
	}
	if d.Number, err = bucket.NextSequence(); err != nil {
		return nil, err
	}
	if err := putJSON(bucket, deliveryKey(d.Hook, d.Number), d); err != nil {
		return nil, err
	}
	for _, key := range above(bucket, d.Hook, MaxPending, maxPendingBytes) {
		old, err := decodeDelivery(key, bucket.Get(key))
		if err != nil {
			return nil, err
		}
		old.GaveUp, old.Error = d.At, "too many newer events wait"
		if err := o.GiveUp(old); err != nil {
			return nil, err
		}
		givenUp = append(givenUp, old)
	}
	return givenUp, nil
}

// Save replaces a delivery that waits, unless it was removed meanwhile.
func (o *Outbox) Save(d Delivery) error {
	bucket := o.tx.Bucket(bucketOutbox)
	if bucket == nil || bucket.Get(deliveryKey(d.Hook, d.Number)) == nil {
		return nil
	}
	return putJSON(bucket, deliveryKey(d.Hook, d.Number), d)
}

// GiveUp keeps a delivery that waited only to be seen, unless it was removed meanwhile. The
// oldest ones above the limit go.
func (o *Outbox) GiveUp(d Delivery) error {
	pending, key := o.tx.Bucket(bucketOutbox), deliveryKey(d.Hook, d.Number)
	if pending == nil || pending.Get(key) == nil {
		return nil
	}
	bucket, err := o.tx.CreateBucketIfNotExists(bucketGivenUp)
	if err == nil {
		err = errors.Join(pending.Delete(key), putJSON(bucket, key, d))
	}
	if err != nil {
		return err
	}
	for _, old := range above(bucket, d.Hook, maxGivenUp, maxPendingBytes) {
		err = errors.Join(err, bucket.Delete(old))
	}
	return err
}

// Remove removes a delivery.
func (o *Outbox) Remove(d Delivery) (err error) {
	for _, name := range [][]byte{bucketOutbox, bucketGivenUp} {
		if bucket := o.tx.Bucket(name); bucket != nil {
			err = errors.Join(err, bucket.Delete(deliveryKey(d.Hook, d.Number)))
		}
	}
	return err
}

// Deliveries returns the deliveries of all hooks: first those that were given up, then
// those that wait, each in order.
func (o *Outbox) Deliveries() ([]Delivery, error) { return deliveriesIn(o.tx) }

// above returns the keys of a hook's oldest deliveries above a limit of their number or
// their size. The newest is never among them.
func above(bucket *bbolt.Bucket, hook string, most, bytesAtMost int) (keys [][]byte) {
	prefix, size, count := []byte(hook+"\x00"), 0, 0
	cursor := bucket.Cursor()
	newest := cursor.Prev
	if behind, _ := cursor.Seek([]byte(hook + "\x01")); behind == nil {
		newest = cursor.Last
	}
	for k, v := newest(); k != nil && bytes.HasPrefix(k, prefix); k, v = cursor.Prev() {
		count, size = count+1, size+len(v)
		if count > 1 && (count > most || size > bytesAtMost) {
			keys = append(keys, bytes.Clone(k)) // a change of the bucket may move k
		}
	}
	slices.Reverse(keys)
	return keys
}

// Update changes the outbox alone.
func (s *Store) Update(change func(*Outbox) error) error {
	return s.Commit(Changes{Outbox: change})
}

// Deliveries is as Outbox.Deliveries.
func (s *Store) Deliveries() (all []Delivery, err error) {
	err = s.read(func(tx *bbolt.Tx) error {
		all, err = deliveriesIn(tx)
		return err
	})
	return all, err
}

// NextDelivery returns the first delivery of a hook that waits; found is false for none.
func (s *Store) NextDelivery(hook string) (next Delivery, found bool, err error) {
	err = s.read(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(bucketOutbox)
		if bucket == nil {
			return nil
		}
		prefix := []byte(hook + "\x00")
		k, v := bucket.Cursor().Seek(prefix)
		if found = k != nil && bytes.HasPrefix(k, prefix); !found {
			return nil
		}
		next, err = decodeDelivery(k, v)
		return err
	})
	return next, found && err == nil, err
}

// Notified returns what hooks were notified of, by manifest.
func (s *Store) Notified() (map[string]Notified, error) {
	return readAll[Notified](s, bucketNotified)
}

func deliveriesIn(tx *bbolt.Tx) (all []Delivery, err error) {
	for _, name := range [][]byte{bucketGivenUp, bucketOutbox} {
		err = forEach(tx, name, func(k, v []byte) error {
			d, err := decodeDelivery(k, v)
			all = append(all, d)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// deliveryKey orders deliveries by hook and number. The name of a hook has no zero byte.
func deliveryKey(hook string, number uint64) []byte {
	return append([]byte(hook+"\x00"), sequenceKey(number)...)
}

func decodeDelivery(key, value []byte) (d Delivery, err error) {
	hook, number, found := bytes.Cut(key, []byte{0})
	if !found || len(number) != 8 {
		return d, fmt.Errorf("bucket %s, key %q: no number", bucketOutbox, key)
	}
	if err := json.Unmarshal(value, &d); err != nil {
		return d, fmt.Errorf("bucket %s, key %q: %w", bucketOutbox, key, err)
	}
	d.Hook, d.Number = string(hook), numberOf(number)
	return d, nil
}
