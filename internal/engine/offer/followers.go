package offer

import (
	"slices"

	"syncd/internal/config"
	"syncd/internal/downstream/rings"
	"syncd/internal/golive/probe"
	"syncd/internal/manifest"
	"syncd/internal/metrics"
	"syncd/internal/mirror"
	"syncd/internal/report"
	"syncd/internal/report/status"
	"syncd/internal/store"
)

// Tell adds to the state of a manifest, as this host tells its upstream, what the consumers say
// of the served revision, and a stop by the followers of this host, which counts as a refusal of
// its own. A newer release that this host refused itself is told first. fleet is nil without
// followers.
func Tell(notes *probe.Notes, fleet *rings.Fleet, name string, s rings.State) rings.State {
	switch trial := notes.Of(name, string(s.Release)+"-"+s.Revision); {
	case trial.Release == "" || trial.Unasked:
	case trial.Verdict == nil:
		s.Probe = rings.ProbePending
	case trial.Verdict.Passed:
		s.Probe = rings.ProbeProven
	default:
		s.Probe = rings.ProbeFailed
	}
	if fleet == nil {
		return s
	}
	stop, isStopped := fleet.StoppedHere(name)
	if isStopped && (s.Refused == "" || stop.Release.Newer(s.Refused) || stop.Release == s.Refused && s.Reason == rings.ReasonFailed) {
		s.Refused, s.RefusedRevision, s.Reason, s.Attempts = stop.Release, stop.Revision, rings.ReasonStopped, 1
	}
	return s
}

// Withheld is what followers don't see because the upstream of this host shows it no more. So a
// stop passes from level to level with each poll.
func Withheld(state interface {
	Manifests() (map[string]store.Manifest, error)
}, served mirror.Generation) (map[string]rings.Withheld, error) {
	saved, err := state.Manifests()
	all := map[string]rings.Withheld{}
	for name, m := range saved {
		if r := served.Records[name]; m.KeptOut != "" && m.KeptOut == r.ID() {
			all[name] = rings.Withheld{Above: manifest.Release(m.Newest), Revision: rings.Version{Release: r.Release, Revision: r.Revision}}
		}
	}
	return all, err
}

// ShowWaiting tells of the rings that wait for manifests.
func ShowWaiting(s *report.Status, all []report.WaitingRing) {
	for i := range s.Manifests {
		name := s.Manifests[i].Name
		s.Manifests[i].Waiting = slices.DeleteFunc(slices.Clone(all), func(w report.WaitingRing) bool { return w.Manifest != name })
	}
}

// WaitingOnDisk are the rings that wait when no engine is running; state is nil when there is no
// state database.
func WaitingOnDisk(cfg *config.Config, m *mirror.Mirror, state status.StateReader) ([]report.WaitingRing, error) {
	if !cfg.HasFleet() || state == nil || !slices.ContainsFunc(cfg.Serve.Rings, func(r config.Ring) bool { return r.AfterHosts > 0 }) {
		return nil, nil
	}
	fleet, err := rings.Read(Now{Mirror: m}, state, RingsOf(cfg), cfg.Serve.MaxHosts)
	if err != nil {
		return nil, err
	}
	return fleet.Waiting(), nil
}

// Shown is what the metrics show of a fleet; nil is one without followers.
func Shown(cfg *config.Config, fleet *rings.Fleet) (shown metrics.Fleet) {
	if fleet == nil {
		return shown
	}
	for c, hosts := range fleet.Counts() {
		shown.Hosts = append(shown.Hosts, metrics.FleetHosts{Ring: c.Ring, Release: c.Release, State: string(c.State), Hosts: hosts})
	}
	shown.Stopped, shown.Waiting = fleet.Stopped(), map[string]int{}
	for _, ring := range cfg.Serve.Rings {
		if ring.AfterHosts > 0 {
			shown.Waiting[ring.Name] = 0
		}
	}
	for _, w := range fleet.Waiting() {
		if w.Overdue {
			shown.Waiting[w.Ring]++
		}
	}
	return shown
}
