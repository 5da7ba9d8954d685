package service

import (
	"net/http"
	"slices"
	"strings"

	"syncd/internal/emulator/gazetteer"
	"syncd/internal/emulator/wire"
)

// Config is what all services are made from.
type Config struct {
	// CustomerID is the only id accepted; "" accepts any that is not empty.
	CustomerID string
	// Prefix is the vendor's word in names such as {Prefix}AddressKey.
	Prefix string
	// World answers the requests.
	World *gazetteer.World
}

// AddressKey returns the name of the key of an address, {Prefix}AddressKey.
func (c Config) AddressKey() string { return c.Prefix + "AddressKey" }

// Service is one service. It is safe for concurrent use when its operations are.
type Service struct {
	// Path is the base path of the operations, such as /property/v4/WEB.
	Path string
	// FoldCase matches Path and the names of operations without case.
	FoldCase bool
	// CustomerID is the only id accepted; "" accepts any that is not empty.
	CustomerID string
	// Operations are the operations by their path below Path.
	Operations map[string]Operation
	// Write sends an answer; nil sends JSON or XML, as the request asks.
	Write func(*Call, wire.Document)
}

// Operation is one operation of a service.
type Operation struct {
	Methods []string
	Inputs  []Input
	// Request is the root element of a request in XML; "" accepts JSON only.
	Request string
	// Default is the format of the answer to a GET without one; "" is JSON.
	Default wire.Format
	// Response is the answer with blank members. Without a root, answers are
	// always JSON.
	Response wire.Document
	// Codes is the member for the codes of the request, Text the one that
	// explains them, "" for none.
	Codes, Text string
	// UnknownID is the code for a wrong Customer ID.
	UnknownID string
	// Strict refuses a body with members that are not inputs.
	Strict bool
	Handle func(*Call)
}

// The methods of operations.
var (
	OnlyGet    = []string{http.MethodGet}
	OnlyPost   = []string{http.MethodPost}
	GetAndPost = []string{http.MethodGet, http.MethodPost}
)

// Below returns the part of a path below the service's own, without slashes
// around it; false for a path of another service.
func (s *Service) Below(path string) (rest string, ok bool) {
	if len(path) < len(s.Path) {
		return "", false
	}
	base, rest := path[:len(s.Path)], path[len(s.Path):]
	if base != s.Path && (!s.FoldCase || !strings.EqualFold(base, s.Path)) {
		return "", false
	}
	if rest != "" && rest[0] != '/' {
		return "", false
	}
	return strings.TrimSuffix(strings.TrimPrefix(rest, "/"), "/"), true
}

// ServeHTTP answers a request for an operation, and 404 for any other path.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _ := s.Below(r.URL.Path)
	op, ok := s.find(name)
	if !ok {
		wire.Empty(http.StatusNotFound).Write(w)
		return
	}
	if !slices.Contains(op.Methods, r.Method) {
		w.Header().Set("Allow", strings.Join(op.Methods, ", "))
		wire.Empty(http.StatusMethodNotAllowed).Write(w)
		return
	}
	c := &Call{Name: name, Operation: op, Method: r.Method, service: s, w: w, r: r}
	if p, ok := c.read(); !ok {
		p.Write(w)
		return
	}
	if code := s.customerIDCode(c); code != "" {
		c.Refuse(code)
		return
	}
	op.Handle(c)
}

func (s *Service) find(name string) (Operation, bool) {
	if op, ok := s.Operations[name]; ok || !s.FoldCase {
		return op, ok
	}
	for known, op := range s.Operations {
		if strings.EqualFold(known, name) {
			return op, true
		}
	}
	return Operation{}, false
}

// customerIDCode returns the code for a Customer ID that is not accepted, ""
// for an accepted one.
func (s *Service) customerIDCode(c *Call) string {
	switch id := c.Value(CustomerID); {
	case id == "":
		return "GE04"
	case s.CustomerID != "" && id != s.CustomerID:
		return c.Operation.UnknownID
	}
	return ""
}

// codeTexts explain the codes of requests. Only the list and auto-complete
// services have a member for such a text.
var codeTexts = map[string]string{
	"GE03": "The request holds too many records.",
	"GE04": "The Customer ID is empty.",
	"GE05": "The Customer ID is not valid.",
	"GE09": "The customer is not known.",
}
