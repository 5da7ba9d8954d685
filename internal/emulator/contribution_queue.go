package emulator

import (
	"slices"
	"sync"
	"time"
)

// Contribution is a submission that was accepted for review.
type Contribution struct {
	Number    int       `json:"number"` // counts from 1
	Operation string    `json:"operation"`
	Method    string    `json:"method"`
	Time      time.Time `json:"time"`
	// Fields are what the caller gave but for the Customer ID, by the names of
	// a body whatever the method was.
	Fields []ContributionField `json:"fields"`
}

// ContributionField is a value of a submission. A pair of one of the lists has
// the name "Current.City".
type ContributionField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Value returns the value of a field, "" when it was not given.
func (c Contribution) Value(name string) string {
	for _, f := range c.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// Contributions returns the submissions accepted since the start or the last
// ResetContributions, in order.
func (e *Emulator) Contributions() []Contribution { return e.queue.snapshot() }

// ResetContributions empties the queue and counts from 1 again.
func (e *Emulator) ResetContributions() { e.queue.reset() }

// maxContributions bounds the queue of an emulator that runs for days; the older
// half goes when it is full.
const maxContributions = 100_000

type contributionQueue struct {
	mu    sync.Mutex
	last  int // number
	items []Contribution
}

func (q *contributionQueue) add(c Contribution) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	c.Number, c.Time = q.last, time.Now()
	if len(q.items) >= maxContributions {
		q.items = slices.Clone(q.items[maxContributions/2:])
	}
	q.items = append(q.items, c)
}

// snapshot is never nil: the administration shows it as JSON.
func (q *contributionQueue) snapshot() []Contribution {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]Contribution{}, q.items...)
}

func (q *contributionQueue) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last, q.items = 0, nil
}
