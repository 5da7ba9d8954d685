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
	MaxElapsed      time.Duration // retry budget, counted from the request's last progress
}

// Retry calls op until it succeeds, fails with an error that is not transient, or
// has failed for Retry.MaxElapsed since it last called progress. It returns op's last
// error, the context's, or *CoolingDown when the provider asked for a longer wait than
// Retry.MaxElapsed.
func (c *Client) Retry(ctx context.Context, endpoint string, op func(progress func()) error) error {
	policy := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(c.cfg.Retry.InitialInterval),
		backoff.WithMaxInterval(c.cfg.Retry.MaxInterval),
		backoff.WithMaxElapsedTime(c.cfg.Retry.MaxElapsed),
	)
	for {
		err := op(policy.Reset)
		if err == nil || !IsTransient(err) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if cooling := c.coolingDown(err); cooling != nil {
			return cooling
		}
		wait := policy.NextBackOff()
		if wait == backoff.Stop {
			return err
		}
		if c.cfg.Observer != nil {
			c.cfg.Observer.Retry(endpoint)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// coolingDown returns *CoolingDown when err asks for a wait beyond the retry budget.
func (c *Client) coolingDown(err error) error {
	if failed, ok := errors.AsType[*Error](err); ok && failed.RetryAfter > c.cfg.Retry.MaxElapsed {
		return &CoolingDown{Origin: failed.origin, Until: c.cfg.Gate.Until(failed.origin)}
	}
	return nil
}
