package store

import "time"

var bucketAsked = []byte("asked") // revision -> when another host asked about it; files of earlier versions have none

// Asked returns when other hosts last asked about revisions, by key.
func (s *Store) Asked() (map[string]time.Time, error) { return timesOf(s, bucketAsked) }

// SetAsked notes that another host asked about a revision. It drops what is older than
// horizon.
func (s *Store) SetAsked(key string, at, horizon time.Time) error {
	return setTime(s, bucketAsked, key, at, horizon)
}
