package service

import (
	"cmp"
	"fmt"
	"net/url"

	"syncd/internal/clients/transport"
	"syncd/internal/config"
)

// Connect returns a client for a configured service, its Customer ID and the
// vendor's word. It fails when the service has no address; it sends nothing yet.
func Connect(name string, s config.Service, prefix string, id config.Secret, options transport.Options) (*Client, error) {
	if s.URL == nil {
		return nil, fmt.Errorf("the %s service has no address: set services.%s.url in the configuration", name, name)
	}
	s.CustomerIDParam = cmp.Or(s.CustomerIDParam, "id")
	cfg := Config{Name: name, Prefix: prefix, CustomerID: id.Reveal()}
	for base, client := range map[*url.URL]**transport.Client{s.URL: &cfg.Web, s.JSONPURL: &cfg.Script} {
		if base == nil {
			continue
		}
		t, err := transport.Connect(s, base, id, options)
		if err != nil {
			return nil, err
		}
		*client = t
	}
	return New(cfg), nil
}
