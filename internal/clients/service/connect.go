package service

import (
	"cmp"
	"fmt"
	"net/url"

	"syncd/internal/clients/transport"
)

// Connect returns a client for the service with that name. cfg.Base is the
// address of the service; jsonp is its JSONP address, or nil. Connect fails
// without an address. It sends nothing.
func Connect(name, prefix string, cfg transport.Config, jsonp *url.URL) (*Client, error) {
	if cfg.Base == nil {
		return nil, fmt.Errorf("the %s service has no address: set services.%s.url in the configuration", name, name)
	}
	cfg.IDParam = cmp.Or(cfg.IDParam, "id")
	web, err := transport.New(cfg)
	if err != nil {
		return nil, err
	}
	own := Config{Name: name, Prefix: prefix, CustomerID: cfg.CustomerID, Web: web}
	if jsonp != nil {
		cfg.Base = jsonp
		if own.JSONP, err = transport.New(cfg); err != nil {
			return nil, err
		}
	}
	return New(own), nil
}
