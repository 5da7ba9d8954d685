package store

import (
	"bytes"
	"encoding/json"
	"fmt"
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
}

// Told is what hooks were told of a manifest.
type Told struct {
	Release  string `json:"release,omitempty"`  // served; "" for none
	Revision string `json:"revision,omitempty"` // served
	Stale    bool   `json:"stale,omitempty"`    // no sync has confirmed it for long
}

// Outbox is the outbox within a transaction that changes the state. It keeps what must
// be told with what happened: both are saved, or neither.
type Outbox struct{ tx *bbolt.Tx }

// Told returns what hooks were told, by manifest.
func (o *Outbox) Told() (map[string]Told, error) { return toldIn(o.tx) }

// SetTold saves what hooks were told of a manifest. The zero Told removes the entry.
func (o *Outbox) SetTold(name string, told Told) error {
	bucket, err := o.tx.CreateBucketIfNotExists(bucketTold)
	switch {
	case err != nil:
		return err
	case told == Told{}:
		return bucket.Delete([]byte(name))
	}
	return putJSON(bucket, []byte(name), told)
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
	return trimDeliveries(bucket, d.Hook, d.At)
}

// Save replaces a delivery, unless it was removed meanwhile.
func (o *Outbox) Save(d Delivery) error {
	bucket := o.tx.Bucket(bucketOutbox)
	if bucket == nil || bucket.Get(deliveryKey(d.Hook, d.Number)) == nil {
		return nil
	}
	return putJSON(bucket, deliveryKey(d.Hook, d.Number), d)
}

// Remove removes a delivery.
func (o *Outbox) Remove(d Delivery) error {
	if bucket := o.tx.Bucket(bucketOutbox); bucket != nil {
		return bucket.Delete(deliveryKey(d.Hook, d.Number))
	}
	return nil
}

// Deliveries returns the deliveries of all hooks, those of each hook in order.
func (o *Outbox) Deliveries() ([]Delivery, error) { return deliveriesIn(o.tx) }

// trimDeliveries gives up the oldest deliveries that wait above the limits, and removes
// the oldest ones that were given up above theirs.
func trimDeliveries(bucket *bbolt.Bucket, hook string, now time.Time) (givenUp []Delivery, err error) {
	all, err := readDeliveries(bucket, []byte(hook+"\x00"))
	if err != nil {
		return nil, err
	}
	var remove []Delivery
	pending, size, kept := 0, 0, 0
	for i := len(all) - 1; i >= 0; i-- {
		d := all[i]
		if d.GaveUp.IsZero() {
			pending, size = pending+1, size+len(d.Body)
			if pending == 1 || pending <= MaxPending && size <= maxPendingBytes {
				continue
			}
			d.GaveUp, d.Error = now, "too many newer events wait"
			givenUp = append(givenUp, d)
			if err := putJSON(bucket, deliveryKey(hook, d.Number), d); err != nil {
				return nil, err
			}
		}
		if kept++; kept > maxGivenUp {
			remove = append(remove, d)
		}
	}
	for _, d := range remove {
		if err := bucket.Delete(deliveryKey(hook, d.Number)); err != nil {
			return nil, err
		}
	}
	return givenUp, nil
}

// Update changes the outbox alone.
func (s *Store) Update(change func(*Outbox) error) error {
	return s.Commit(Changes{Outbox: change})
}

// Deliveries returns the deliveries of all hooks, those of each hook in order.
func (s *Store) Deliveries() (all []Delivery, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		all, err = deliveriesIn(tx)
		return err
	})
	return all, err
}

// NextDelivery returns the first delivery of a hook that was not given up; found is
// false for none.
func (s *Store) NextDelivery(hook string) (next Delivery, found bool, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(bucketOutbox)
		if bucket == nil {
			return nil
		}
		prefix := []byte(hook + "\x00")
		cursor := bucket.Cursor()
		for k, v := cursor.Seek(prefix); bytes.HasPrefix(k, prefix) && !found; k, v = cursor.Next() {
			if next, err = decodeDelivery(k, v); err != nil {
				return err
			}
			found = next.GaveUp.IsZero()
		}
		return nil
	})
	return next, found, err
}

// Told returns what hooks were told, by manifest.
func (s *Store) Told() (told map[string]Told, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		told, err = toldIn(tx)
		return err
	})
	return told, err
}

func toldIn(tx *bbolt.Tx) (map[string]Told, error) {
	all := map[string]Told{}
	bucket := tx.Bucket(bucketTold)
	if bucket == nil { // a file of an earlier version
		return all, nil
	}
	return all, bucket.ForEach(func(name, v []byte) error {
		var told Told
		if err := json.Unmarshal(v, &told); err != nil {
			return fmt.Errorf("bucket %s, key %q: %w", bucketTold, name, err)
		}
		all[string(name)] = told
		return nil
	})
}

func deliveriesIn(tx *bbolt.Tx) ([]Delivery, error) {
	bucket := tx.Bucket(bucketOutbox)
	if bucket == nil {
		return nil, nil
	}
	return readDeliveries(bucket, nil)
}

func readDeliveries(bucket *bbolt.Bucket, prefix []byte) (all []Delivery, err error) {
	cursor := bucket.Cursor()
	for k, v := cursor.Seek(prefix); bytes.HasPrefix(k, prefix) && k != nil; k, v = cursor.Next() {
		d, err := decodeDelivery(k, v)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
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
