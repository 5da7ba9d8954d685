package engine

import (
	"cmp"

	"syncd/internal/clients/signature"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/downstream/rings"
)

// defaultRegion is that of servers which know no regions.
const defaultRegion = "us-east-1"

// SourceConfig is ClientConfig for the source. A bucket gets signed requests, and no
// Customer ID. An upstream is told of this host if the operator says so, or gave this
// host the id of a follower: a provider can claim to be a syncd.
func SourceConfig(s config.Source, id config.Secret) transport.Config {
	c := ClientConfig(s.Service(), id)
	c.Report = s.Report == config.ReportTrue || s.Report == config.ReportAuto && rings.IsID(id.Reveal())
	if s.S3.IsSet() {
		c.IDParam, c.Sign = "", signature.Signer(signature.Credentials(), cmp.Or(s.S3.Region, defaultRegion))
	}
	return c
}

// ClientConfig turns the configuration of a service into that of its client. The
// caller adds what is not configured: the user agent, metrics and the shared Gate.
func ClientConfig(s config.Service, id config.Secret) transport.Config {
	return transport.Config{
		Base: s.URL, CustomerID: id.Reveal(), IDParam: s.CustomerIDParam,
		CAFile: s.CAFile, Proxy: s.Proxy, ClientCert: s.ClientCert, ClientKey: s.ClientKey, AllowInsecureHTTP: s.AllowInsecureHTTP,
		StallTimeout: s.StallTimeout, Retry: transport.Retry(s.Retry),
	}
}
