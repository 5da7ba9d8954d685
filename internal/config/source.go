package config

import (
	"net/url"
	"strings"
	"time"

	"syncd/internal/clients/origin"
	"syncd/internal/manifest"
)

// Source holds the settings of the release service, or of the bucket that a follower
// mirrors instead.
type Source struct {
	URL               *url.URL // may hold a password or a query: show it with transport.PublicURL only; the place of S3, if that is set
	S3                S3
	Credential        Credential
	CustomerIDParam   string // the query parameter that carries the Customer ID
	Hash              manifest.Algorithm
	CAFile            string   // absolute after Load, "" = only the system's roots
	Proxy             *url.URL // may hold a password, as URL; nil = that of the environment
	ClientCert        string   // absolute after Load, "" = none
	ClientKey         string   // absolute after Load, "" = none
	AllowInsecureHTTP bool
	StallTimeout      time.Duration // a transfer without a byte for this long is retried
	MinRate           MinRate
	Retry             Retry
}

// MinRate is the least rate of a transfer. One that is slower over a whole window is
// dropped and retried.
type MinRate struct {
	Rate int64 // bytes per second, 0 = none
	Over time.Duration
}

// Retry is the backoff between retries. InitialInterval is at most MaxInterval.
type Retry struct {
	InitialInterval, MaxInterval time.Duration
	MaxElapsed                   time.Duration // retry budget, counted from a request's last progress
}

func (d *decoder) source(s *Source) setter {
	return keys(credentialKeys(&s.Credential, table{
		"url":                 scalar(&s.URL, parseURL),
		"s3":                  keys(s.S3.table()),
		"customer_id_param":   scalar(&s.CustomerIDParam, parseParam),
		"hash":                scalar(&s.Hash, parseHash),
		"ca_file":             scalar(&s.CAFile, d.besideConfig),
		"proxy":               scalar(&s.Proxy, parseProxy),
		"client_cert":         scalar(&s.ClientCert, d.besideConfig),
		"client_key":          scalar(&s.ClientKey, d.besideConfig),
		"allow_insecure_http": scalar(&s.AllowInsecureHTTP, parseBool),
		"stall_timeout":       scalar(&s.StallTimeout, parsePositiveDuration),
		"min_rate":            keys(s.MinRate.table()),
		"retry":               keys(s.Retry.table()),
	}))
}

func (m *MinRate) table() table {
	return table{
		"rate": scalar(&m.Rate, parseRate),
		"over": scalar(&m.Over, parsePositiveDuration),
	}
}

func (r *Retry) table() table {
	return table{
		"initial_interval": scalar(&r.InitialInterval, parsePositiveDuration),
		"max_interval":     scalar(&r.MaxInterval, parsePositiveDuration),
		"max_elapsed":      scalar(&r.MaxElapsed, parsePositiveDuration),
	}
}

// checkSource checks how the values of source relate.
func (d *decoder) checkSource(s *Source) {
	env := d.env
	s.Credential.env = &env
	d.checkCredential("source", &s.Credential)
	switch {
	case d.isSet("source.s3"):
		d.checkBucket(s)
	case !d.isSet("source.url") && d.valid("source"):
		d.fail("source.url", fault{"is missing", "write the address of the release service, such as https://releases.example.net"})
	default:
		d.checkURL("source.url", s.URL, *s)
	}
	d.checkProxy("source.proxy", s.Proxy)
	d.checkPair("source", s.ClientCert, s.ClientKey)
	d.checkRetry("source", s.Retry)
}

// checkProxy notes a password in a proxy's address.
func (d *decoder) checkProxy(path string, proxy *url.URL) {
	if proxy != nil && proxy.User != nil && d.isSet(path) {
		d.secrets = append(d.secrets, d.place(path))
	}
}

// checkPair checks that a client certificate has its key.
func (d *decoder) checkPair(parent, cert, key string) {
	switch {
	case cert != "" && key == "" && d.valid(parent+".client_key"):
		d.fail(parent+".client_cert", fault{"its key is missing", "set client_key, too"})
	case cert == "" && key != "" && d.valid(parent+".client_cert"):
		d.fail(parent+".client_key", fault{"its certificate is missing", "set client_cert, too"})
	}
	if key != "" && d.isSet(parent+".client_key") {
		d.keys = append(d.keys, keyFile{d.place(parent + ".client_key"), key})
	}
}

// checkURL checks a URL against the other settings of its service.
func (d *decoder) checkURL(path string, u *url.URL, s Source) {
	if u == nil {
		return
	}
	if u.User != nil {
		d.secrets = append(d.secrets, d.place(path))
	}
	if d.valid("source.customer_id_param") && queryHas(u, s.CustomerIDParam) {
		d.fail(path, fault{"its query holds the Customer ID's parameter", "remove it and use customer_id_file"})
	}
	if u.Scheme != "http" || origin.IsLoopback(u.Hostname()) {
		return
	}
	if s.AllowInsecureHTTP {
		d.plain = append(d.plain, d.place(path))
		return
	}
	own := path[:strings.LastIndexByte(path, '.')] + ".allow_insecure_http"
	if d.valid("source.allow_insecure_http", own) {
		d.fail(path, fault{
			"plain http to a host that is not loopback is insecure: the Customer ID would travel unencrypted",
			"use https, or set allow_insecure_http: true if the network is trusted",
		})
	}
}

// checkRetry checks that initial_interval is at most max_interval. It reports the one
// that the file sets, because the other may be a default.
func (d *decoder) checkRetry(parent string, r Retry) {
	initial, longest := parent+".retry.initial_interval", parent+".retry.max_interval"
	sound := d.valid(initial, longest, "source.retry.initial_interval", "source.retry.max_interval")
	if r.InitialInterval <= r.MaxInterval || !sound {
		return
	}
	switch {
	case d.isSet(initial):
		d.fail(initial, fault{"is longer than max_interval", "make it at most max_interval"})
	case d.isSet(longest):
		d.fail(longest, fault{"is shorter than initial_interval", "make it at least initial_interval"})
	}
}

// queryHas is true when a URL's query has a parameter, in any case.
func queryHas(u *url.URL, param string) bool {
	for pair := range strings.FieldsFuncSeq(u.RawQuery, func(r rune) bool { return r == '&' || r == ';' }) {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if strings.EqualFold(name, param) {
			return true
		}
	}
	return false
}
