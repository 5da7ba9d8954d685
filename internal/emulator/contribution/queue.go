package contribution

import (
	"slices"
	"sync"
	"time"
)

// Submission is a contribution that was accepted for review.
type Submission struct {
	Number    int       `json:"number"` // counts from 1
	Operation string    `json:"operation"`
	Method    string    `json:"method"`
	Time      time.Time `json:"time"`
	// Fields are the inputs that the caller gave, without the Customer ID. They
	// have the names of a body, also for a query.
	Fields []Field `json:"fields"`
}

// Field is a value of a submission. A pair of a list has a name like
// "Current.City".
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Value returns the value of a field, "" when it was not given.
func (s Submission) Value(name string) string {
	for _, f := range s.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// maxSubmissions bounds the queue of an emulator that runs for days. A full queue
// drops its older half.
const maxSubmissions = 100_000

// Queue holds the submissions. Its zero value is empty and ready; it is safe for
// concurrent use.
type Queue struct {
	mu    sync.Mutex
	last  int // number
	items []Submission
}

func (q *Queue) add(s Submission) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	s.Number, s.Time = q.last, time.Now()
	if len(q.items) >= maxSubmissions {
		q.items = slices.Clone(q.items[maxSubmissions/2:])
	}
	q.items = append(q.items, s)
}

// All returns the submissions in the order of their arrival, never nil.
func (q *Queue) All() []Submission {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]Submission{}, q.items...)
}

// Reset empties the queue. Numbers begin at 1 again.
func (q *Queue) Reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last, q.items = 0, nil
}
