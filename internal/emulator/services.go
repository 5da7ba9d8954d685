package emulator

import (
	"net/http"

	"syncd/internal/emulator/autocomplete"
	"syncd/internal/emulator/contribution"
	"syncd/internal/emulator/listing"
	"syncd/internal/emulator/property"
	"syncd/internal/emulator/reversegeo"
	"syncd/internal/emulator/service"
)

// ContributionURL returns the base address of the contribution service, without
// a slash at its end. This and the following services share the listener of the
// release service.
func (e *Emulator) ContributionURL() string { return e.URL() + contribution.Path }

// ListURL returns the base address of the list-retrieval service.
func (e *Emulator) ListURL() string { return e.URL() + listing.Path }

// PropertyURL returns the base address of the property service.
func (e *Emulator) PropertyURL() string { return e.URL() + property.Path }

// AutocompleteURL returns the base address of the auto-complete service.
func (e *Emulator) AutocompleteURL() string { return e.URL() + autocomplete.Path }

// AutocompleteJSONPURL returns the base address of the auto-complete service for
// scripts.
func (e *Emulator) AutocompleteJSONPURL() string { return e.URL() + autocomplete.JSONPPath }

// ReverseGeoURL returns the base address of the reverse geocoding service.
func (e *Emulator) ReverseGeoURL() string { return e.URL() + reversegeo.Path }

// Contribution is a submission that the contribution service accepted.
type Contribution = contribution.Submission

// Contributions returns the submissions accepted since the start or the last
// ResetContributions, in order.
func (e *Emulator) Contributions() []Contribution { return e.contributions.All() }

// ResetContributions empties the queue of submissions and counts from 1 again.
func (e *Emulator) ResetContributions() { e.contributions.Reset() }

// hosted is a service with its name in the log and in faults.
type hosted struct {
	host    string
	service *service.Service
}

// services returns all services except the release service.
func (e *Emulator) services() []hosted {
	cfg := service.Config{CustomerID: e.cfg.CustomerID, Prefix: e.cfg.Prefix, World: e.world}
	return []hosted{
		{HostContribution, contribution.New(cfg, &e.contributions)},
		{HostList, listing.New(cfg)},
		{HostProperty, property.New(cfg)},
		{HostAutocomplete, autocomplete.New(cfg)},
		{HostAutocomplete, autocomplete.NewJSONP(cfg)},
		{HostReverseGeo, reversegeo.New(cfg)},
	}
}

// withServices sends a request below the path of a service to that service, and
// any other request to next.
func (e *Emulator) withServices(next http.Handler) http.Handler {
	services := e.services()
	handlers := make([]http.Handler, len(services))
	for i, s := range services {
		handlers[i] = e.observe(s.host, s.service)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i, s := range services {
			if _, ok := s.service.Below(r.URL.Path); ok {
				handlers[i].ServeHTTP(w, r)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
