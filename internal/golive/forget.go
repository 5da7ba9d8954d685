package golive

import (
	"context"
	"fmt"
	"slices"

	"syncd/internal/hooks/outbox"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/store"
)

// Orphaned lists the manifests and views that are served and no longer configured as such.
func (t *Tree) Orphaned() []string {
	names := slices.Concat(t.orphanedManifests(), t.orphanedViewNames())
	slices.Sort(names)
	return names
}

func (t *Tree) orphanedManifests() []string {
	return slices.DeleteFunc(t.Mirror.Current().Names(), t.Targets.Has)
}

func (t *Tree) orphanedViewNames() (names []string) {
	for name := range t.Mirror.Current().Views {
		if !slices.ContainsFunc(t.Views, func(v ViewTarget) bool { return v.View.Name == name }) {
			names = append(names, name)
		}
	}
	return names
}

// Forget publishes a new generation without what left the configuration. The
// newest configuration counts, because a reload may have come meanwhile. Without names it
// forgets all of them; if there are none, it changes nothing.
func Forget(ctx context.Context, t *Tree, req request.Forget) (report.Sync, error) {
	op := &forget{Command: NewCommand(t, req.Trigger), names: req.Names}
	exported, err := t.Apply(ctx, op)
	op.Result.Exports = exported
	return op.Result, err
}

// forget takes the files of what left out of the configured views, too.
type forget struct {
	Command
	names []string
}

func (op *forget) Propose(context.Context) (p Proposal, err error) {
	if err := op.RefreshLocked(); err != nil {
		return p, err
	}
	if p.Change.Remove, err = op.Newest().forgettable(op.names); len(p.Change.Remove) > 0 {
		p.Views, p.LateViews = op.Newest().ConfiguredViews(), true
	}
	return p, err
}

// forgettable checks the names of a request.
func (t *Tree) forgettable(names []string) ([]string, error) {
	orphaned, current := t.Orphaned(), t.Mirror.Current()
	if len(names) == 0 {
		return orphaned, nil
	}
	for _, name := range names {
		_, isView := current.Views[name]
		_, isManifest := current.Records[name]
		switch {
		case slices.Contains(orphaned, name):
		case isView || isManifest:
			return nil, fmt.Errorf("%s is in the configuration: remove it there first, and send a running syncd SIGHUP", name)
		default:
			return nil, fmt.Errorf("%q is not served: `syncd status` shows what is", name)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names))), nil
}

func (op *forget) Settle(o Outcome) (*Commit, error) {
	if !op.Settled(o) {
		return nil, o.Err
	}
	op.Result.Removed = o.Change.Remove
	return op.Record(store.Changes{Forgotten: o.Change.Remove}, outbox.News{}), o.Err
}
