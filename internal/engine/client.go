package engine

import (
	"syncd/internal/clients/transport"
	"syncd/internal/config"
)

// ClientConfig turns the configuration of a service into that of its client. The
// caller adds what is not configured: the user agent, metrics and the shared Gate.
func ClientConfig(s config.Service, id config.Secret) transport.Config {
	return transport.Config{
		Base: s.URL, CustomerID: id.Reveal(), IDParam: s.CustomerIDParam,
		CAFile: s.CAFile, Proxy: s.Proxy, ClientCert: s.ClientCert, ClientKey: s.ClientKey, AllowInsecureHTTP: s.AllowInsecureHTTP,
		StallTimeout: s.StallTimeout, Retry: transport.Retry(s.Retry),
	}
}
