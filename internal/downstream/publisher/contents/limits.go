package contents

import (
	"time"

	"syncd/internal/downstream/objectstore"
)

// LimitsOfObject are what a job may ask for besides with each object.
var LimitsOfObject = objectstore.Limits{Requests: 16, Bytes: 64 << 10, Time: time.Second}

// slowest is how many bytes a second an upload makes at least, on average.
const slowest = 64 << 10

// sharers is how many uploads may share the bandwidth, at most.
const sharers = 64

// Grow lets a job upload bytes, also as slowly as the bandwidth asks for.
func (c Config) Grow(job *objectstore.Budget, bytes int64) {
	pace := int64(slowest)
	if limit := c.Rate(); limit > 0 {
		pace = max(min(pace, limit/sharers), 1)
	}
	more := LimitsOfObject
	more.Requests += bytes / leastPart * more.Requests
	more.Bytes += bytes / leastPart * more.Bytes
	more.Time += time.Duration(bytes/pace) * time.Second
	job.Grow(more)
}
