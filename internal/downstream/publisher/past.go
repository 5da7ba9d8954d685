package publisher

import (
	"time"

	"syncd/internal/downstream/publisher/texts"
	"syncd/internal/report"
)

// Past is what this host did and saw at a place before.
type Past struct {
	Began      int64 // of the newest generation that this host wrote or accepted
	Epoch      int64 // of that
	Generation int   // its number
	Wrote      bool  // this host published there once
}

// after is the past once a publication ended.
func (p Past) after(done report.Upload) *Past {
	began := max(p.Began, done.Began)
	return &Past{began, max(p.epochIn(began), done.Epoch), done.Generation, p.Wrote || done.Result == report.Uploaded}
}

// epochIn is the epoch that is known of the bucket that began then.
func (p Past) epochIn(began int64) int64 {
	if began > p.Began {
		return 0
	}
	return p.Epoch
}

// beganOf is when the bucket began that the next generation is of. A publisher that finds an
// empty place, and knows nothing of it, begins one: followers may know the place from before.
func (p *Publisher) beganOf(at texts.State) int64 {
	past := *p.past.Load()
	if at.Present.Number == 0 && at.BeganAt() == 0 && past == (Past{}) {
		return time.Now().Add(time.Duration(p.cfg.Turn) * time.Minute).Unix()
	}
	return max(at.BeganAt(), past.Began)
}
