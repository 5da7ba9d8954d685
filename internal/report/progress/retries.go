package progress

import (
	"time"

	"syncd/internal/report"
)

// SetRetry sets what is retried for a manifest, nil for nothing.
func (t *Tracker) SetRetry(manifest string, retry *report.Retry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if retry == nil {
		delete(t.retries, manifest)
		return
	}
	if t.retries == nil {
		t.retries = map[string]*report.Retry{}
	}
	t.retries[manifest] = retry
}

// RetryingSince is since when something is retried, the zero time for nothing.
func (t *Tracker) RetryingSince() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if longest := t.longestRetryLocked(); longest != nil {
		return longest.Since
	}
	return time.Time{}
}

// longestRetryLocked is what has been retried for the longest time, nil for nothing.
func (t *Tracker) longestRetryLocked() (longest *report.Retry) {
	for _, retry := range t.retries {
		if longest == nil || retry.Since.Before(longest.Since) {
			longest = retry
		}
	}
	return longest
}
