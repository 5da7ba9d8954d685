package golive

import (
	"slices"

	"syncd/internal/mirror"
	"syncd/internal/mirror/destroy"
)

// IsWayBack is true for a revision that a probe without a verdict may go back to. Only an
// operator's command destroys it: else a publisher that replaces a release with a broken one
// could take away what to go back to.
func (d Destroyer) IsWayBack(o destroy.Order) bool {
	return slices.ContainsFunc(court{d.Tree}.backs(), func(r mirror.Record) bool {
		return r.Manifest == o.Manifest && r.ID() == o.ID()
	})
}
