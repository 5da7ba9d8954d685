package config

import (
	"net/url"
	"time"
)

// Services are the provider's other five services.
type Services struct {
	Prefix       string // the word in {Prefix}AddressKey and its like on the wire
	Contribution Service
	List         Service
	Property     Service
	Autocomplete Service
	ReverseGeo   Service
}

// Service holds the settings of one service. After Load, settings that the file leaves
// out have the values of source.
type Service struct {
	URL, JSONPURL     *url.URL // nil when not configured
	Credential        Credential
	CustomerIDParam   string // the query parameter that carries the Customer ID of GETs
	CAFile            string
	Proxy             *url.URL
	ClientCert        string
	ClientKey         string
	AllowInsecureHTTP bool
	StallTimeout      time.Duration
	Retry             Retry
}

// ByKey returns a service by its key in the file, or nil.
func (s *Services) ByKey(key string) *Service { return s.byKey()[key] }

// Configured returns the services that have an address, by their keys in the file.
func (s *Services) Configured() map[string]Service {
	configured := map[string]Service{}
	for key, service := range s.byKey() {
		if service.URL != nil || service.JSONPURL != nil {
			configured[key] = *service
		}
	}
	return configured
}

// byKey returns the services by their keys in the file.
func (s *Services) byKey() map[string]*Service {
	return map[string]*Service{
		"contribution": &s.Contribution,
		"list":         &s.List,
		"property":     &s.Property,
		"autocomplete": &s.Autocomplete,
		"reversegeo":   &s.ReverseGeo,
	}
}

// Service returns the settings of source as a Service.
func (s Source) Service() Service {
	return Service{
		URL: s.URL, Credential: s.Credential, CustomerIDParam: s.CustomerIDParam, CAFile: s.CAFile, Proxy: s.Proxy, ClientCert: s.ClientCert, ClientKey: s.ClientKey,
		AllowInsecureHTTP: s.AllowInsecureHTTP, StallTimeout: s.StallTimeout, Retry: s.Retry,
	}
}

// inherit gives each service the values of source, except the address and the query
// parameter.
func (s *Services) inherit(source Source) {
	for _, service := range s.byKey() {
		*service = source.Service()
		service.URL, service.CustomerIDParam = nil, "id"
	}
}

// services decodes the services key. It must run after source is decoded, because
// services inherit from it.
func (d *decoder) services(s *Services, source Source, n *node) {
	s.inherit(source)
	if n == nil {
		return
	}
	t := table{"prefix": scalar(&s.Prefix, parseWord)}
	for key, service := range s.byKey() {
		t[key] = serviceKeys(service, source, key == "autocomplete")
	}
	keys(t)(d, "services", n)
}

func serviceKeys(s *Service, source Source, jsonp bool) setter {
	return func(d *decoder, path string, n *node) {
		var own Credential
		t := credentialKeys(&own, table{
			"url":                 scalar(&s.URL, parseURL),
			"ca_file":             scalar(&s.CAFile, d.besideConfig),
			"proxy":               scalar(&s.Proxy, parseProxy),
			"client_cert":         scalar(&s.ClientCert, d.besideConfig),
			"client_key":          scalar(&s.ClientKey, d.besideConfig),
			"allow_insecure_http": scalar(&s.AllowInsecureHTTP, parseBool),
			"stall_timeout":       scalar(&s.StallTimeout, parsePositiveDuration),
			"retry":               keys(s.Retry.table()),
		})
		if jsonp {
			t["jsonp_url"] = scalar(&s.JSONPURL, parseURL)
		}
		keys(t)(d, path, n)
		d.checkService(path, s, source, own)
	}
}

// checkService checks how the values of a service relate. A Customer ID of its own
// replaces the one of source.
func (d *decoder) checkService(path string, s *Service, source Source, own Credential) {
	d.checkCredential(path, &own)
	if own.inline != nil || own.file != nil {
		s.Credential = own
	}
	source.AllowInsecureHTTP = s.AllowInsecureHTTP
	d.checkURL(path+".url", s.URL, source)
	d.checkURL(path+".jsonp_url", s.JSONPURL, source)
	d.checkProxy(path+".proxy", s.Proxy)
	d.checkPair(path, s.ClientCert, s.ClientKey)
	d.checkRetry(path, s.Retry)
}
