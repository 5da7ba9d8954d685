package mirror

import (
	"context"
	"fmt"
)

// Change is how a new generation differs from the current one.
type Change struct {
	Set    []Record          // of manifests with another revision or another hold
	Orders map[string]Orders // of served manifests whose orders change; those of the others stay
	Views  []View            // with another tree or another record
	Remove []string          // manifests and views that are no longer served

	// Described are records of served revisions of which more is known now. Those of
	// revisions that are no longer served change nothing.
	Described []Record
}

// Publish makes the change the next generation and swaps `current` to it. The order
// keeps the data directory whole in a crash between any two steps: object names,
// revision trees, generation, `current`. The objects of all records must be
// adopted. After nil, the generation is served and durable. *BuildError is about
// one manifest or view, and nothing is published then.
func (m *Mirror) Publish(ctx context.Context, change Change) (Generation, error) {
	if err := m.Objects.Sync(); err != nil {
		return Generation{}, err
	}
	for _, record := range change.Set {
		if ctx.Err() != nil {
			return Generation{}, context.Cause(ctx)
		}
		if err := m.prepare(record); err != nil {
			return Generation{}, &BuildError{Manifest: record.Manifest, Err: fmt.Errorf("build revision %s: %w", record.ID(), err)}
		}
	}
	for _, view := range change.Views {
		if ctx.Err() != nil {
			return Generation{}, context.Cause(ctx)
		}
		if err := m.Trees.prepareView(view); err != nil {
			return Generation{}, &BuildError{View: view.Name, Err: fmt.Errorf("build view %s: %w", view.Name, err)}
		}
	}
	if err := m.Records.keepDescribed(change.Described); err != nil {
		return Generation{}, err
	}
	next, err := m.Generations.build(change)
	if err != nil {
		return Generation{}, fmt.Errorf("build generation %d: %w", next.Number, err)
	}
	if ctx.Err() != nil {
		return Generation{}, context.Cause(ctx)
	}
	if err := m.Generations.swapTo(next); err != nil {
		return Generation{}, fmt.Errorf("swap to generation %d: %w", next.Number, err)
	}
	current := m.Generations.Current()
	if m.Served != nil {
		m.Served(current)
	}
	return current, nil
}

// BuildError names the manifest or the view whose tree could not be built. The others
// may be published without it.
type BuildError struct {
	Manifest string // "" if View is set
	View     string
	Err      error
}

func (e *BuildError) Error() string { return e.Manifest + e.View + ": " + e.Err.Error() }

func (e *BuildError) Unwrap() error { return e.Err }

// prepare makes a revision and its record complete on disk, shown by no generation yet.
func (m *Mirror) prepare(record Record) error {
	if err := record.Check(); err != nil {
		return err
	}
	if err := m.Trees.build(treeOfRevision(record)); err != nil {
		return err
	}
	return m.Records.keep(record)
}
