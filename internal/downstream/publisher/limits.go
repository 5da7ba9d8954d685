package publisher

import (
	"time"

	"syncd/internal/downstream/objectstore"
)

// The limits of the jobs. A publication may ask for more with each object that it uploads:
// see Publisher.growFor.
var (
	limitsOfPublication  = objectstore.Limits{Requests: 10_000, Bytes: 256 << 20, Time: time.Hour}
	limitsOfObject       = objectstore.Limits{Requests: 16, Bytes: 64 << 10, Time: time.Second}
	limitsOfCollection   = objectstore.Limits{Requests: 500_000, Bytes: 16 << 30, Time: time.Hour}
	limitsOfVerification = objectstore.Limits{Requests: 500_000, Bytes: 16 << 30, Time: time.Hour} // of texts; it may ask for more for each object
	limitsOfLook         = objectstore.Limits{Requests: 100, Bytes: 32 << 20, Time: 10 * time.Minute}
)

// slowest is how many bytes a second an upload makes at least, on average.
const slowest = 64 << 10

// sharers is how many uploads may share the bandwidth, at most.
const sharers = 64

// growFor lets a job upload bytes, also as slowly as the bandwidth asks for.
func (p *Publisher) growFor(job *objectstore.Budget, bytes int64) {
	pace := int64(slowest)
	if limit := p.cfg.Place.Rate(); limit > 0 {
		pace = max(min(pace, limit/sharers), 1)
	}
	more := limitsOfObject
	more.Requests += bytes / leastPart * more.Requests
	more.Bytes += bytes / leastPart * more.Bytes
	more.Time += time.Duration(bytes/pace) * time.Second
	job.Grow(more)
}
