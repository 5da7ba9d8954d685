package transport

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Retry is the exponential backoff after transient faults.
type Retry struct {
	InitialInterval time.Duration
	MaxInterval     time.Duration
	MaxElapsed      time.Duration // retry budget, counted from the last progress of the request and of its poll
}

// Retry calls op until it succeeds, fails with an error that is not transient, or
// has failed for Retry.MaxElapsed: since it last called progress, or since no request of
// its poll has had an answer. It returns op's last error, the context's, or *CoolingDown
// when the provider asked for a longer wait than Retry.MaxElapsed.
func (c *Client) Retry(ctx context.Context, endpoint string, op func(progress func()) error) error {
	about := subjectOf(ctx)
	policy := &budget{poll: about.poll, max: c.cfg.Retry.MaxElapsed, ExponentialBackOff: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(c.cfg.Retry.InitialInterval),
		backoff.WithMaxInterval(c.cfg.Retry.MaxInterval),
		backoff.WithMaxElapsedTime(0), // budget ends them
	)}
	began, attempt := time.Now(), 0
	var last error
	progress := func() {
		policy.Reset()
		about.answered()
		began, attempt, last = time.Now(), 0, nil
	}
	try := func() error {
		err := op(progress)
		switch {
		case err == nil:
			about.answered()
			return nil
		case !IsTransient(err):
			return backoff.Permanent(err)
		case ctx.Err() != nil:
			return backoff.Permanent(context.Cause(ctx))
		case errors.Is(err, errNoTimeLeft) && last != nil:
			return backoff.Permanent(last) // it says more
		}
		about.unanswered(began)
		last = err
		if cooling := c.coolingDown(err); cooling != nil {
			return backoff.Permanent(cooling)
		}
		return err
	}
	notify := func(err error, wait time.Duration) {
		attempt++
		if c.cfg.Observer != nil {
			c.cfg.Observer.Retry(endpoint)
		}
		about.failed(c.cfg.Tell, began, Trouble{Err: err, Attempt: attempt, Next: time.Now().Add(max(wait, retryAfterOf(err)))})
	}
	err := backoff.RetryNotify(try, backoff.WithContext(policy, ctx), notify)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}

// budget ends retries when the request has made no progress for the whole budget, or its
// poll has had no answer. The last attempt begins when the budget ends.
type budget struct {
	*backoff.ExponentialBackOff
	poll *poll
	max  time.Duration
}

// NextBackOff implements backoff.BackOff.
func (b *budget) NextBackOff() time.Duration {
	left := b.max - max(b.GetElapsedTime(), b.poll.silence())
	if left <= 0 {
		return backoff.Stop
	}
	return min(b.ExponentialBackOff.NextBackOff(), left)
}

// coolingDown returns *CoolingDown when err asks for a wait beyond the retry budget.
func (c *Client) coolingDown(err error) error {
	if failed, ok := errors.AsType[*Error](err); ok && failed.RetryAfter > c.cfg.Retry.MaxElapsed {
		return &CoolingDown{Origin: failed.origin, Until: c.cfg.Gate.Until(failed.origin)}
	}
	return nil
}

func retryAfterOf(err error) time.Duration {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.RetryAfter
	}
	return 0
}
