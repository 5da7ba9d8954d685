package engine

import (
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"syncd/internal/clients/transport"
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
	active := e.active.Load()
	if !active.source.denials.seen.Load() {
		return false
	}
	id, err := active.config.Source.Credential.ReadAgain()
	if errors.Is(err, fs.ErrPermission) && active.source.denials.told.CompareAndSwap(false, true) {
		e.options.Log.Warn().Err(err).Msg("the provider refused the Customer ID, and this user cannot read it again: restart syncd after a change")
	}
	if err != nil || id == active.id {
		return false
	}
	cfg := *active.config
	cfg.Source.Credential = cfg.Source.Credential.Known(id)
	if err := e.configure(&cfg); err != nil {
		e.options.Log.Error().Err(err).Msg("the Customer ID has changed and could not be put in force")
		return false
	}
	e.options.Log.Info().Msg("the provider refused the Customer ID; another one is there now and in force")
	return true
}

// renewed returns the manifests of a result that failed under a Customer ID that is no
// longer in force, because the provider refused it.
func (e *Engine) renewed(before *active, result report.Sync) (failed []string) {
	if !before.source.denials.seen.Load() {
		return nil
	}
	e.RenewID()
	if e.active.Load().id == before.id {
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
