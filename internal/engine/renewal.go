package engine

import (
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/rs/zerolog"

	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/report"
)

// denials notes that the provider refused the Customer ID of a connection.
type denials struct {
	transport.Observer
	seen atomic.Bool

	told atomic.Bool // that the ID cannot be read again
}

// Request implements transport.Observer.
func (d *denials) Request(endpoint, code string) {
	if code == strconv.Itoa(http.StatusUnauthorized) || code == strconv.Itoa(http.StatusForbidden) {
		d.seen.Store(true)
	}
	d.Observer.Request(endpoint, code)
}

// RenewID reads the Customer ID again if the provider has refused the one in force, and
// puts another one in force. It is false when there is no other one that this process can
// read.
func (e *Engine) RenewID() bool {
	e.configuring.Lock()
	defer e.configuring.Unlock()
	cfg, isOther := e.active.Load().readAgain(e.options.Log)
	if !isOther {
		return false
	}
	if err := e.configure(cfg); err != nil {
		e.options.Log.Error().Err(err).Msg("the Customer ID has changed and could not be put in force")
		return false
	}
	e.options.Log.Info().Msg("the provider refused the Customer ID; another one is there now and in force")
	return true
}

// readAgain returns the configuration with the Customer IDs of sources that refused the ones in
// force, and false if there is no other one that this process can read.
func (a *active) readAgain(log zerolog.Logger) (*config.Config, bool) {
	cfg, all, isOther := *a.config, a.connections(), false
	cfg.Others = slices.Clone(cfg.Others)
	_ = cfg.EachSource(func(_ string, s *config.Source) error { // fails never
		from := all[0]
		all = all[1:]
		if !from.denials.seen.Load() {
			return nil
		}
		id, err := s.Credential.ReadAgain()
		if errors.Is(err, fs.ErrPermission) && from.denials.told.CompareAndSwap(false, true) {
			log.Warn().Err(err).Str("source", s.Name).Msg("the provider refused the Customer ID, and this user cannot read it again: restart syncd after a change")
		}
		if err == nil && id != from.id {
			s.Credential, isOther = s.Credential.Known(id), true
		}
		return nil
	})
	return &cfg, isOther
}

// renewed returns the manifests of a result that failed under a Customer ID that is no
// longer in force, because the provider refused it.
func (e *Engine) renewed(before *active, result report.Sync) (failed []string) {
	if !slices.ContainsFunc(before.connections(), func(c *connection) bool { return c.denials.seen.Load() }) {
		return nil
	}
	e.RenewID()
	if slices.Equal(e.active.Load().ids(), before.ids()) {
		return nil
	}
	return failedIn(result)
}

// failedIn returns the manifests that failed.
func failedIn(result report.Sync) (names []string) {
	for _, m := range result.Manifests {
		if m.Result == report.Failed {
			names = append(names, m.Name)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}
