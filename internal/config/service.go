package config

import (
	"net/url"

	"syncd/internal/config/document"
	"syncd/internal/config/value"
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
	Connection
	JSONPURL *url.URL // nil when not configured
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
func (s Source) Service() Service { return Service{Connection: s.Connection} }

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
func (d *decoder) services(s *Services, source Source, n *document.Node) {
	s.inherit(source)
	if n == nil {
		return
	}
	t := document.Table{"prefix": document.Scalar(&s.Prefix, value.Word)}
	for key, service := range s.byKey() {
		t[key] = d.serviceKeys(service, source, key == "autocomplete")
	}
	document.Keys(t)(d.Decoder, "services", n)
}

func (d *decoder) serviceKeys(s *Service, source Source, jsonp bool) document.Setter {
	return func(_ *document.Decoder, path string, n *document.Node) {
		var own Credential
		t := d.connectionKeys(&s.Connection, &own)
		if jsonp {
			t["jsonp_url"] = document.Scalar(&s.JSONPURL, value.URL)
		}
		document.Keys(t)(d.Decoder, path, n)
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
	general := source.Connection
	general.AllowInsecureHTTP = s.AllowInsecureHTTP
	d.checkURL(path+".url", s.URL, general)
	d.checkURL(path+".jsonp_url", s.JSONPURL, general)
	d.checkConnection(path, s.Connection)
}
