package transport

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"syncd/internal/clients/certificate"
)

const (
	maxRedirects   = 10
	maxProblem     = 64 << 10  // bytes read of an error's body
	maxHeader      = 256 << 10 // bytes of response headers
	readBuffer     = 8 << 10   // of a connection: headers and a small file come in one read
	idlePerHost    = 64        // idle connections kept: at least as many as a caller uses at once
	connectTimeout = 30 * time.Second
	writeTimeout   = 10 * time.Second // requests are small
	keepIdle       = 90 * time.Second

	defaultStall           = 30 * time.Second
	defaultInitialInterval = 500 * time.Millisecond
	defaultMaxInterval     = 30 * time.Second
	defaultMaxElapsed      = 15 * time.Minute
)

// Observer counts requests for metrics. Its methods must be safe for concurrent use.
type Observer interface {
	Request(endpoint, code string) // code is the HTTP status, or "error" when no response came
	Retry(endpoint string)
}

// Config holds the settings of a Client. Base is required. A zero duration means the
// default.
type Config struct {
	Base              *url.URL // may have a path, a user part and a query, which go with each request
	CustomerID        string
	IDParam           string   // query parameter for the Customer ID of a GET; "" sends none
	CAFile            string   // PEM file with root certificates to trust besides the system's
	ClientCert        string   // PEM file with the certificate that the host of Base may ask for; "" for none
	ClientKey         string   // PEM file with its key
	Proxy             *url.URL // for all requests, redirected ones included; nil for the proxy of the environment
	AllowInsecureHTTP bool     // permits redirects to plain http on hosts other than loopback
	StallTimeout      time.Duration
	Retry             Retry
	UserAgent         string
	Observer          Observer
	Tell              func(about string, t Trouble) // of requests that fail or wait, and of the end of that; calls about a subject come one at a time; nil for nobody
	Gate              *Gate                         // nil for one of its own
	Trace             func(sent bool, head string)  // of each request that is sent and each response: its first line and headers, without secrets; nil for nobody
	Sign              func(*http.Request) error     // adds headers that prove who asks, to each request to the origin of Base; nil for none
	Dated             func(time.Time)               // of the Date header of each answer of the origin of Base that no cache kept; nil for nobody
	Carrier           http.RoundTripper             // answers requests to the scheme of Base in place of the network; nil for the network
	Report            bool                          // sends the State of requests to the origin of Base once that says it is a syncd
}

// Client sends requests below one base URL. Safe for concurrent use.
type Client struct {
	cfg    Config
	base   base
	redact Redactor
	roots  *x509.CertPool
	own    *tls.Certificate // nil for none
	small  pool             // HTTP/2 where the server offers it; every request over plain http
	bulk   pool             // HTTP/1.1
	conns  openConnections

	isSyncd atomic.Bool // the last answer of the base's origin came from a syncd
}

// New returns a client and fills in the defaults of cfg. It sends nothing. It fails
// when a file of cfg cannot be read or holds no certificate.
func New(cfg Config) (*Client, error) {
	roots, err := certificate.Roots(cfg.CAFile)
	if err != nil {
		return nil, err
	}
	own, err := certificate.Client(cfg.ClientCert, cfg.ClientKey)
	if err != nil {
		return nil, err
	}
	cfg.StallTimeout = cmp.Or(cfg.StallTimeout, defaultStall)
	cfg.Retry.InitialInterval = cmp.Or(cfg.Retry.InitialInterval, defaultInitialInterval)
	cfg.Retry.MaxInterval = cmp.Or(cfg.Retry.MaxInterval, defaultMaxInterval)
	cfg.Retry.MaxElapsed = cmp.Or(cfg.Retry.MaxElapsed, defaultMaxElapsed)
	if cfg.Gate == nil {
		cfg.Gate = NewGate(nil, nil)
	}
	c := &Client{
		cfg:    cfg,
		base:   newBase(cfg),
		redact: NewRedactor(cfg.CustomerID),
		roots:  roots,
		own:    own,
	}
	multiplexed, err := c.newHTTP2Transport()
	if err != nil {
		return nil, err
	}
	c.small.rt.Store(multiplexed)
	c.bulk.rt.Store(c.newTransport())
	return c, nil
}

// Redactor returns the Redactor for the client's Customer ID.
func (c *Client) Redactor() Redactor { return c.redact }
