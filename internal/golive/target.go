package golive

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"syncd/internal/golive/gate"
	"syncd/internal/golive/probe"
	"syncd/internal/golive/rows"
	"syncd/internal/manifest"
	"syncd/internal/manifest/expiry"
	"syncd/internal/mirror"
	"syncd/internal/mirror/staging"
	"syncd/internal/report/request"
)

// Target is one manifest to mirror, when its revisions may go live, and who says whether they work.
type Target struct {
	manifest.Target
	Activate staging.Policy
	Gate     gate.Gate
	Probe    probe.Probe
	Expires  expiry.Rule

	DestroyAfter time.Duration // after it was last served, a revision is destroyed; 0 for never
	Rows         rows.Rule
}

// IsJudged is true if something looks at each complete revision before it may go live: the
// gate, or the comparison of rows.
func (t Target) IsJudged() bool { return len(t.Gate.Command) > 0 || t.Rows.Compares() }

// With returns the target as the operator's orders want it.
func (t Target) With(orders mirror.Orders) Target {
	t.Skip = orders.Skip
	if orders.Pin == "" || orders.Pin == t.Release {
		return t
	}
	t.Files = slices.Clone(t.Files)
	for i, ref := range t.Files {
		if ref.Release() == t.Release { // a path with a release of its own keeps that
			t.Files[i] = ref.WithRelease(orders.Pin)
		}
	}
	t.Release = orders.Pin
	return t
}

// terms identify what decides about a revision beside the operator: the gate, and the
// configuration with its fingerprint.
func (t Target) terms(fingerprint string) string { return t.Gate.ID() + " " + fingerprint }

// IsLeft is true for a discarded revision that only the operator, another gate or another
// configuration brings back.
func (t Target) IsLeft(e staging.Revision, fingerprint string) bool {
	return e.IsLeft(t.terms(fingerprint), t.Gate.Identity())
}

// skipped is the releases of a target that are passed over, as part of its fingerprint.
func (t Target) skipped() string {
	var text strings.Builder
	for _, release := range t.Skip {
		fmt.Fprintf(&text, " -%s", release)
	}
	return text.String()
}

// Targets are what a configuration mirrors.
type Targets []Target

// Names returns the names in the order of the configuration.
func (all Targets) Names() []string {
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.Name
	}
	return names
}

// Has is true for the name of a target.
func (all Targets) Has(name string) bool {
	return slices.ContainsFunc(all, func(t Target) bool { return t.Name == name })
}

// Find returns the target of a manifest, one without settings if it left the configuration.
func (all Targets) Find(name string) Target {
	if i := slices.IndexFunc(all, func(t Target) bool { return t.Name == name }); i >= 0 {
		return all[i]
	}
	return Target{Target: manifest.Target{Name: name}}
}

// Probe returns the probe of a manifest.
func (all Targets) Probe(name string) probe.Probe { return all.Find(name).Probe }

// Choose returns the targets with the given names, sorted; without names, all targets.
// Unknown names are an error unless skipUnknown.
func (all Targets) Choose(names []string, skipUnknown bool) (chosen Targets, err error) {
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		switch {
		case all.Has(name):
			chosen = append(chosen, all.Find(name))
		case !skipUnknown:
			return nil, &request.UnknownManifestError{Name: name}
		}
	}
	return chosen, nil
}

// Group is a set of manifests that go live together.
type Group struct {
	Name      string
	Manifests []string
}

// Groups are the groups of a configuration. A manifest without one is a group of its own.
type Groups []Group

// Of lists the manifests that go live together with one, itself included.
func (all Groups) Of(name string) []string {
	for _, g := range all {
		if slices.Contains(g.Manifests, name) {
			return g.Manifests
		}
	}
	return []string{name}
}

// split returns the names of records by group.
func (all Groups) split(records []mirror.Record) (groups [][]string) {
	byGroup := map[string][]string{}
	for _, record := range records {
		first := all.Of(record.Manifest)[0]
		byGroup[first] = append(byGroup[first], record.Manifest)
	}
	for _, group := range byGroup {
		groups = append(groups, group)
	}
	return groups
}

// Named returns the manifests that names of manifests and groups mean, each with its
// whole group; without names, all.
func (t *Tree) Named(asked []string) (names []string, err error) {
	if len(asked) == 0 {
		return t.Targets.Names(), nil
	}
	for _, name := range asked {
		i := slices.IndexFunc(t.Groups, func(g Group) bool { return g.Name == name })
		switch {
		case i >= 0:
			names = append(names, t.Groups[i].Manifests...)
		case t.Targets.Has(name):
			names = append(names, t.Groups.Of(name)...)
		default:
			return nil, &request.UnknownManifestError{Name: name}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names))), nil
}

// target returns the target of a manifest with the orders for it.
func (t *Tree) target(name string) Target {
	return t.Targets.Find(name).With(aging{t}.orders(name))
}

// Selection identifies which files of a target are mirrored and by which digests they are
// compared.
func (t *Tree) Selection(of Target) string {
	text := t.Algorithm.String() + " " + of.Filter.Fingerprint()
	if len(of.Files) > 0 {
		text += " " + manifest.ReferencesID(of.Files)
	}
	return text
}

// Fingerprint identifies the configuration of a target.
func (t *Tree) Fingerprint(of Target) string {
	return t.Source + " " + string(of.Release) + " " + t.Selection(of) + of.skipped()
}
