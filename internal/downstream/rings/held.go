package rings

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/report"
)

// showGone is how long a destroyed revision is listed that no host holds any more.
const showGone = 30 * 24 * time.Hour

// gone are the revisions that were destroyed here, by manifest and what destruction.Gone.ID
// says of them.
type gone map[string]map[string]destruction.Gone

func goneOf(c Catalog) gone {
	all := gone{}
	for name, list := range c.Destroyed() {
		all[name] = map[string]destruction.Gone{}
		for _, g := range list {
			all[name][g.ID()] = g
		}
	}
	return all
}

// find returns the destroyed revision that an ID of a follower names. Its filters may make
// another revision of the same release, which is destroyed if all of the release is.
func (g gone) find(manifestName, id string) (destruction.Gone, bool) {
	if exact, found := g[manifestName][id]; found {
		return exact, true
	}
	whole, found := g[manifestName][string(releaseOf(id))]
	return whole, found
}

// releaseOf is the release of a held revision.
func releaseOf(id string) manifest.Release {
	release, _, _ := strings.Cut(id, "-")
	return manifest.Release(release)
}

// Holds is true for a destroyed revision that the asker says it has on its disk.
func (a Asker) Holds(g destruction.Gone) bool {
	return slices.ContainsFunc(a.state.held(), func(id string) bool {
		_, revision, _ := strings.Cut(id, "-")
		return g.Is(releaseOf(id), revision)
	})
}

// held fills in what a host holds.
func (g gone) held(manifestName string, r *hostReport, to *report.Following) {
	if !r.TellsHeld {
		return
	}
	to.Holds = []manifest.Release{}
	ids := r.held()
	to.HoldsMore = r.Held - len(ids)
	for _, id := range slices.Backward(ids) {
		release := releaseOf(id)
		if !slices.Contains(to.Holds, release) {
			to.Holds = append(to.Holds, release)
		}
		if _, isGone := g.find(manifestName, id); isGone && !slices.Contains(to.Destroyed, release) {
			to.Destroyed = append(to.Destroyed, release)
		}
	}
}

// holds is true for a host that has a release on its disk.
func (r *hostReport) holds(release manifest.Release) bool {
	return slices.ContainsFunc(r.held(), func(id string) bool { return releaseOf(id) == release })
}

// destroyedLocked lists the destroyed revisions with the hosts that still hold them, the
// newest first: those that a host holds, and those that were destroyed not long ago.
func (f *Fleet) destroyedLocked(all gone) []report.Destroyed {
	type key struct{ manifest, id string }
	found := map[key]*report.Destroyed{}
	for name, list := range all {
		for id, g := range list {
			found[key{name, id}] = &report.Destroyed{Manifest: name, Release: g.Release, Revision: g.Revision, At: g.At, Hosts: []string{}}
		}
	}
	silent := map[string]int{}
	for name, of := range f.accounts {
		for h, manifests := range of.hosts {
			for manifestName, r := range manifests {
				if !r.TellsHeld {
					silent[manifestName]++
				}
				counted := map[string]bool{} // a host may hold several revisions of a release
				for _, id := range r.held() {
					if g, isGone := all.find(manifestName, id); isGone && !counted[g.ID()] {
						counted[g.ID()] = true
						found[key{manifestName, g.ID()}].Add(hostName(name, h.Name))
					}
				}
			}
		}
	}
	listed := []report.Destroyed{}
	for k, d := range found {
		if d.Untold = silent[k.manifest]; d.Held > 0 || f.now().Sub(d.At) < showGone {
			slices.Sort(d.Hosts)
			d.Hosts = slices.Compact(d.Hosts)
			listed = append(listed, *d)
		}
	}
	slices.SortFunc(listed, func(a, b report.Destroyed) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Manifest, b.Manifest), cmp.Compare(b.Release, a.Release), cmp.Compare(a.Revision, b.Revision))
	})
	return listed
}
