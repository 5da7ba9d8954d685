package transport

import (
	"net/url"
	"time"

	"syncd/internal/config"
)

// Options are what a client needs beside its configuration; all may be zero.
type Options struct {
	UserAgent string
	Observer  Observer
	Gate      *Gate
	Patience  time.Duration // gives up sooner than the configured max_elapsed
}

// Connect returns a client for requests below base, one of a service's
// addresses, with its Customer ID. It sends nothing yet.
func Connect(s config.Service, base *url.URL, id config.Secret, options Options) (*Client, error) {
	retry := Retry(s.Retry)
	if options.Patience > 0 {
		retry.MaxElapsed = min(retry.MaxElapsed, options.Patience)
	}
	return New(Config{
		Base: base, CustomerID: id.Reveal(), IDParam: s.CustomerIDParam,
		CAFile: s.CAFile, AllowInsecureHTTP: s.AllowInsecureHTTP,
		StallTimeout: s.StallTimeout, Retry: retry,
		UserAgent: options.UserAgent, Observer: options.Observer, Gate: options.Gate,
	})
}
