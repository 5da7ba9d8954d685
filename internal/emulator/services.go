package emulator

import (
	"net/http"
	"slices"
	"strings"

	"syncd/internal/emulator/contribution"
	listservice "syncd/internal/emulator/listing"
	"syncd/internal/emulator/property"
	service2 "syncd/internal/emulator/service"
)

// service is one of the services that answer beside the release service, on its
// listener.
type service struct {
	host       string
	base       string // the path that its operations stand under
	fold       bool   // the path is matched without case
	operations map[string]operation
	// write sends an answer; nil is JSON or XML as the caller asked.
	write func(*serviceCall, document)
}

// operation is what a service does under one path segment.
type operation struct {
	methods []string
	inputs  []input
	// request is the root of a request in XML; "" takes JSON only.
	request string
	// usual is the format of an answer to GET that asks for none; "" is JSON.
	usual format
	// response is the answer with its members blank. Without a root there is
	// none in XML.
	response document
	// codes is the member that carries the codes of the request itself, text
	// the one that explains them, "" for none.
	codes, text string
	// unknownID is the code for a Customer ID that is not the right one.
	unknownID string
	// strict refuses a body with members other than the inputs.
	strict bool
	handle func(*serviceCall)
}

var (
	onlyGet    = []string{http.MethodGet}
	onlyPost   = []string{http.MethodPost}
	getAndPost = []string{http.MethodGet, http.MethodPost}
)

// The paths of the services.
const (
	autocompletePath = "/autocomplete/web"
	jsonpPath        = "/autocomplete/jsonp"
	reverseGeoPath   = "/reversegeo/v3/web/ReverseGeoCode"
)

// ContributionURL returns the base address of the contribution service, with no
// slash at its end. It and the following are on the release service's listener.
func (e *Emulator) ContributionURL() string { return e.URL() + contribution.Path }

// ListURL returns the base address of the list-retrieval service.
func (e *Emulator) ListURL() string { return e.URL() + listservice.Path }

// PropertyURL returns the base address of the property service.
func (e *Emulator) PropertyURL() string { return e.URL() + property.Path }

// AutocompleteURL returns the base address of the auto-complete service.
func (e *Emulator) AutocompleteURL() string { return e.URL() + autocompletePath }

// AutocompleteJSONPURL returns the base address of the auto-complete service
// for scripts.
func (e *Emulator) AutocompleteJSONPURL() string { return e.URL() + jsonpPath }

// ReverseGeoURL returns the base address of the reverse geocoding service.
func (e *Emulator) ReverseGeoURL() string { return e.URL() + reverseGeoPath }

func (e *Emulator) services() []service {
	completion := e.completionOperations()
	return []service{
		{host: HostAutocomplete, base: autocompletePath, operations: completion},
		{host: HostAutocomplete, base: jsonpPath, operations: completion, write: writeScript},
		{host: HostReverseGeo, base: reverseGeoPath, fold: true, operations: e.reverseGeoOperations()},
	}
}

// mount is a service with the name of its host.
type mount struct {
	host    string
	below   func(path string) (rest string, ok bool)
	handler http.Handler
}

// mounts are the services beside the release service.
func (e *Emulator) mounts() []mount {
	cfg := service2.Config{CustomerID: e.cfg.CustomerID, Prefix: e.cfg.Prefix, World: e.world}
	var all []mount
	add := func(host string, s *service2.Service) { all = append(all, mount{host, s.Below, s}) }
	add(HostContribution, contribution.New(cfg, &e.contributions))
	add(HostList, listservice.New(cfg))
	add(HostProperty, property.New(cfg))
	for _, s := range e.services() {
		all = append(all, mount{s.host, s.below, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e.serveOperation(&s, w, r)
		})})
	}
	return all
}

// withServices sends a request below the path of a service to that service.
func (e *Emulator) withServices(next http.Handler) http.Handler {
	mounts := e.mounts()
	for i, m := range mounts {
		mounts[i].handler = e.observe(m.host, m.handler)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, m := range mounts {
			if _, ok := m.below(r.URL.Path); ok {
				m.handler.ServeHTTP(w, r)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// below returns what follows the service's own path; a slash at the end is
// allowed.
func (s *service) below(path string) (rest string, ok bool) {
	if len(path) < len(s.base) {
		return "", false
	}
	base, rest := path[:len(s.base)], path[len(s.base):]
	if base != s.base && (!s.fold || !strings.EqualFold(base, s.base)) {
		return "", false
	}
	if rest != "" && rest[0] != '/' {
		return "", false
	}
	return strings.TrimSuffix(strings.TrimPrefix(rest, "/"), "/"), true
}

func (s *service) find(name string) (operation, bool) {
	if op, ok := s.operations[name]; ok || !s.fold {
		return op, ok
	}
	for known, op := range s.operations {
		if strings.EqualFold(known, name) {
			return op, true
		}
	}
	return operation{}, false
}

func (e *Emulator) serveOperation(s *service, w http.ResponseWriter, r *http.Request) {
	name, _ := s.below(r.URL.Path)
	op, ok := s.find(name)
	if !ok {
		problem{status: http.StatusNotFound, shape: shapeEmpty}.write(w)
		return
	}
	if !slices.Contains(op.methods, r.Method) {
		w.Header().Set("Allow", strings.Join(op.methods, ", "))
		problem{status: http.StatusMethodNotAllowed, shape: shapeEmpty}.write(w)
		return
	}
	c := &serviceCall{w: w, r: r, service: s, name: name, op: op}
	if p, ok := c.read(); !ok {
		p.write(w)
		return
	}
	if code := e.requestCode(c); code != "" {
		c.refuse(code)
		return
	}
	op.handle(c)
}

// requestCode is what is wrong with the caller, or "".
func (e *Emulator) requestCode(c *serviceCall) string {
	switch id := c.value(customerID); {
	case id == "":
		return "GE04"
	case e.cfg.CustomerID != "" && id != e.cfg.CustomerID:
		return c.op.unknownID
	}
	return ""
}

// codeTexts explain request codes, where a service has a member for that.
var codeTexts = map[string]string{
	"GE03": "The request holds too many records.",
	"GE04": "The Customer ID is empty.",
	"GE05": "The Customer ID is not valid.",
	"GE09": "The customer is not known.",
}
