package releases

import (
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/config"
)

// Options are what a client needs beside its configuration; all may be zero.
type Options struct {
	UserAgent string
	Observer  transport.Observer
	Gate      *transport.Gate
	Patience  time.Duration // gives up sooner than the configured max_elapsed
}

// Connect returns a client for a configured source and its Customer ID. It
// sends nothing yet.
func Connect(source config.Source, id config.Secret, options Options) (*Client, error) {
	retry := transport.Retry(source.Retry)
	if options.Patience > 0 {
		retry.MaxElapsed = min(retry.MaxElapsed, options.Patience)
	}
	t, err := transport.New(transport.Config{
		Base: source.URL, CustomerID: id.Reveal(), IDParam: source.CustomerIDParam,
		CAFile: source.CAFile, AllowInsecureHTTP: source.AllowInsecureHTTP,
		StallTimeout: source.StallTimeout, Retry: retry,
		UserAgent: options.UserAgent, Observer: options.Observer, Gate: options.Gate,
	})
	if err != nil {
		return nil, err
	}
	return New(t), nil
}
