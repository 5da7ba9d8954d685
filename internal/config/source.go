package config

import (
	"errors"
	"net/url"
	"strings"
	"time"

	"syncd/internal/clients/certificate"
	"syncd/internal/clients/origin"
	"syncd/internal/config/document"
	"syncd/internal/config/ring"
	"syncd/internal/config/value"
	"syncd/internal/downstream/bundle"
	"syncd/internal/manifest"
)

// Source holds the settings of the release service, or of the bucket that a follower
// mirrors instead. With S3, URL is the place in the bucket.
type Source struct {
	Connection
	S3      S3
	Ring    string // of a bucket, "" = the last one
	Hash    manifest.Algorithm
	MinRate MinRate
	Report  Report

	Bundles   string // a folder in which bundles appear, absolute after Load; "" = none
	Name      string // of an entry of a list: tells it from the others
	TrustFile string // absolute after Load, "" = what the source says is believed without signatures
}

// Report says which upstream is told what this host serves and refused, once it says that
// it is a syncd.
type Report string

// The values of source.report.
const (
	ReportAuto  Report = "auto"  // one that gets an id of `syncd serve-id add`
	ReportTrue  Report = "true"  // any
	ReportFalse Report = "false" // none
)

func parseReport(text string) (Report, *document.Fault) {
	switch report := Report(strings.ToLower(text)); report {
	case ReportAuto, ReportTrue, ReportFalse:
		return report, nil
	}
	return "", document.Refuse("is neither auto nor true nor false", "use auto, true or false")
}

// Connection holds how to reach a service of the provider.
type Connection struct {
	URL               *url.URL // nil when not configured; has no user and no query after Load
	Credential        Credential
	CustomerIDParam   string   // the query parameter that carries the Customer ID of GETs
	CAFile            string   // absolute after Load, "" = only the system's roots
	Proxy             *url.URL // may hold a password, as URL; nil = the proxy of the environment
	ClientCert        string   // absolute after Load, "" = none
	ClientKey         string   // absolute after Load, "" = none
	AllowInsecureHTTP bool
	StallTimeout      time.Duration // a transfer without a byte for this long is retried
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
	MaxElapsed                   time.Duration // retry budget of a sync, counted from the last byte or answer
}

func (d *decoder) sourceKeys(s *Source) document.Table {
	t := d.connectionKeys(&s.Connection, &s.Credential)
	s3 := s.S3.Table()
	s3["ring"] = document.Scalar(&s.Ring, ring.Name)
	t["s3"] = document.Keys(s3)
	t["customer_id_param"] = document.Scalar(&s.CustomerIDParam, value.Param)
	t["hash"] = document.Scalar(&s.Hash, value.Hash)
	t["min_rate"] = document.Keys(s.MinRate.table())
	t["report"] = document.Scalar(&s.Report, parseReport)
	t["bundles"] = document.Scalar(&s.Bundles, d.besideConfig)
	t["trust_file"] = document.Scalar(&s.TrustFile, d.besideConfig)
	return t
}

// connectionKeys returns the table of a connection, whose Customer ID goes to credential.
func (d *decoder) connectionKeys(c *Connection, credential *Credential) document.Table {
	return d.credentialKeys(credential, document.Table{
		"url":                 document.Scalar(&c.URL, value.URL),
		"ca_file":             document.Scalar(&c.CAFile, d.besideConfig),
		"proxy":               document.Scalar(&c.Proxy, value.Proxy),
		"client_cert":         document.Scalar(&c.ClientCert, d.besideConfig),
		"client_key":          document.Scalar(&c.ClientKey, d.besideConfig),
		"allow_insecure_http": document.Scalar(&c.AllowInsecureHTTP, value.Bool),
		"stall_timeout":       document.Scalar(&c.StallTimeout, value.PositiveDuration),
		"retry":               document.Keys(c.Retry.table()),
	})
}

func (m *MinRate) table() document.Table {
	return document.Table{
		"rate": document.Scalar(&m.Rate, value.Rate),
		"over": document.Scalar(&m.Over, value.PositiveDuration),
	}
}

func (r *Retry) table() document.Table {
	return document.Table{
		"initial_interval": document.Scalar(&r.InitialInterval, value.PositiveDuration),
		"max_interval":     document.Scalar(&r.MaxInterval, value.PositiveDuration),
		"max_elapsed":      document.Scalar(&r.MaxElapsed, value.PositiveDuration),
	}
}

// checkSource checks how the values of the source at path relate.
func (d *decoder) checkSource(path string, s *Source, env Environment) {
	if s.TrustFile != "" {
		d.keys = append(d.keys, keyFile{d.Place(path + ".trust_file"), s.TrustFile, true})
	}
	s.Credential.env = &env
	d.checkCredential(path, &s.Credential)
	switch {
	case d.IsSet(path + ".bundles"):
		d.checkBundles(path, s)
	case d.IsSet(path + ".s3"):
		d.checkBucket(path, s)
	case !d.IsSet(path+".url") && d.Valid(path):
		d.Fail(path+".url", "is missing", "write the address of the release service, such as https://releases.example.net")
	default:
		d.checkURL(path+".url", s.URL, s.Connection)
	}
	d.checkConnection(path, s.Connection)
}

// checkSigned refuses entries that are in no signed generation of an upstream.
func (d *decoder) checkSigned(c *Config) {
	for i, m := range c.Manifests {
		if c.Source.TrustFile != "" && !c.Source.S3.IsSet() && c.Source.Bundles == "" && (m.Product != "" || len(m.Files) > 0) {
			d.Fail(document.Index("manifests", i), "has product or files, which no signature of source.trust_file covers", "keep the name of a manifest only, or remove source.trust_file")
		}
	}
}

// checkBundles checks source.bundles, which stands in the place of source.url.
func (d *decoder) checkBundles(path string, s *Source) {
	if d.IsSet(path+".url") || d.IsSet(path+".s3") {
		d.Fail(path+".bundles", "url or s3 is set too", "keep one of them: `syncd bundle import` takes a bundle beside any source")
	}
	if s.Hash != manifest.SHA256 {
		d.Fail(path+".hash", "is not for bundles, which name contents by their SHA-256", "remove it")
	}
	s.URL = bundle.Base()
}

// checkConnection checks how the values of a connection relate, but for its addresses.
func (d *decoder) checkConnection(path string, c Connection) {
	d.checkProxy(path+".proxy", c.Proxy)
	d.checkPair(path, c.ClientCert, c.ClientKey)
	checkRetry(d.Decoder, path, c.Retry)
}

// Located names the key and its place in an error about a certificate file of a section,
// such as source. Other errors stay as they are. A service has the files of source, unless
// it names its own.
func (c *Config) Located(section string, err error) error {
	file, ok := errors.AsType[*certificate.FileError](err)
	if !ok {
		return err
	}
	key := section + "." + file.Key
	if service := c.Services.ByKey(strings.TrimPrefix(section, "services.")); service != nil && service.sharesFiles(c.Source.Connection, file.Key) {
		key = "source." + file.Key
	}
	located := c.At(key).Error(c.Path, file.Path+" "+file.Problem, file.Next)
	located.Cause = file.Unwrap()
	return located
}

// sharesFiles is true when a connection has the file of another one for a key.
func (c Connection) sharesFiles(other Connection, key string) bool {
	if key == "ca_file" {
		return c.CAFile == other.CAFile
	}
	return c.ClientCert == other.ClientCert && c.ClientKey == other.ClientKey
}

// checkProxy notes a password in a proxy's address.
func (d *decoder) checkProxy(path string, proxy *url.URL) {
	if proxy != nil && proxy.User != nil && d.IsSet(path) {
		d.secrets = append(d.secrets, d.Place(path))
	}
}

// checkPair checks that a client certificate has its key.
func (d *decoder) checkPair(parent, cert, key string) {
	switch {
	case cert != "" && key == "" && d.Valid(parent+".client_key"):
		d.Fail(parent+".client_cert", "its key is missing", "set client_key, too")
	case cert == "" && key != "" && d.Valid(parent+".client_cert"):
		d.Fail(parent+".client_key", "its certificate is missing", "set client_cert, too")
	}
	if key != "" && d.IsSet(parent+".client_key") {
		d.keys = append(d.keys, keyFile{place: d.Place(parent + ".client_key"), path: key})
	}
}

// checkURL checks a URL against the other settings of its service.
func (d *decoder) checkURL(path string, u *url.URL, s Connection) {
	if u == nil {
		return
	}
	switch {
	case d.Valid("source.customer_id_param") && queryHas(u, s.CustomerIDParam):
		d.Fail(path, "its query holds the Customer ID's parameter", "remove it and use customer_id_file")
		return
	case u.User != nil:
		d.Fail(path, "has a user or a password", "remove the text before the @: the services know a Customer ID only")
		return
	case u.RawQuery != "" || u.ForceQuery:
		d.Fail(path, "has a query", "remove the ? and the text after it")
		return
	}
	if u.Scheme != "http" || origin.IsLoopback(u.Hostname()) {
		return
	}
	if s.AllowInsecureHTTP {
		d.plain = append(d.plain, d.Place(path))
		return
	}
	own := path[:strings.LastIndexByte(path, '.')] + ".allow_insecure_http"
	if d.Valid("source.allow_insecure_http", own) {
		d.Fail(path, "plain http to a host that is not loopback is insecure: the Customer ID would travel unencrypted",
			"use https, or set allow_insecure_http: true if the network is trusted")
	}
}

// checkRetry checks that initial_interval is at most max_interval. It reports the one
// that the file sets, because the other may be a default.
func checkRetry(d *document.Decoder, parent string, r Retry) {
	initial, longest := parent+".retry.initial_interval", parent+".retry.max_interval"
	sound := d.Valid(initial, longest, "source.retry.initial_interval", "source.retry.max_interval")
	if r.InitialInterval <= r.MaxInterval || !sound {
		return
	}
	switch {
	case d.IsSet(initial):
		d.Fail(initial, "is longer than max_interval", "make it at most max_interval")
	case d.IsSet(longest):
		d.Fail(longest, "is shorter than initial_interval", "make it at least initial_interval")
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
