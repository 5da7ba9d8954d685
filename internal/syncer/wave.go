package syncer

import (
	"context"
	"slices"
	"sync"
	"time"
)

// ask asks everything about a manifest until there is a plan.
func (r *run) ask(ctx context.Context, j *job) { j.finish(asking{r, j}.ask(j.span.In(ctx))) }

// inWaves asks about all manifests in parallel, and fetches them in waves. Mostly there
// is one wave. When the questions of a manifest take long, the others go on without it
// after Config.PublishAfter, and it follows in a later wave.
func (r *run) inWaves(ctx context.Context) {
	asked := make(chan *job, len(r.jobs))
	var running sync.WaitGroup
	for _, j := range r.jobs {
		running.Go(func() {
			r.ask(ctx, j)
			asked <- j
		})
	}
	for left := len(r.jobs); left > 0; {
		wave := r.gather(asked, left)
		left -= len(wave)
		running.Go(func() { r.obtain(ctx, r.inOrder(wave)) })
	}
	running.Wait()
}

// gather waits for n manifests. Once one of them has something to fetch, it waits for
// the others for Config.PublishAfter at most.
func (r *run) gather(asked <-chan *job, n int) []*job {
	var wave []*job
	var due <-chan time.Time
	for len(wave) < n {
		select {
		case j := <-asked:
			wave = append(wave, j)
			if due == nil && j.open() {
				due = time.After(r.cfg.PublishAfter)
			}
		case <-due:
			return wave
		}
	}
	return wave
}

// inOrder returns a wave in the order of the configuration.
func (r *run) inOrder(wave []*job) []*job {
	return slices.DeleteFunc(slices.Clone(r.jobs), func(j *job) bool { return !slices.Contains(wave, j) })
}
