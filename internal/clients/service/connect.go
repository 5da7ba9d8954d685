package service

import (
	"cmp"
	"fmt"
	"net/url"

	"syncd/internal/clients/transport"
)

// Connect returns a client for a service by its name and the vendor's word. cfg.Base
// is the service's address; script, which may be nil, is its script address. Connect
// fails when the service has no address; it sends nothing yet.
func Connect(name, prefix string, cfg transport.Config, script *url.URL) (*Client, error) {
	if cfg.Base == nil {
		return nil, fmt.Errorf("the %s service has no address: set services.%s.url in the configuration", name, name)
	}
	cfg.IDParam = cmp.Or(cfg.IDParam, "id")
	own := Config{Name: name, Prefix: prefix, CustomerID: cfg.CustomerID}
	for base, client := range map[*url.URL]**transport.Client{cfg.Base: &own.Web, script: &own.Script} {
		if base == nil {
			continue
		}
		cfg.Base = base
		t, err := transport.New(cfg)
		if err != nil {
			return nil, err
		}
		*client = t
	}
	return New(own), nil
}
