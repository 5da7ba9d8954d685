package golive

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"syncd/internal/disk/space"
	"syncd/internal/golive/room"
	"syncd/internal/manifest/layout"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
	"syncd/internal/report"
)

// ViewTarget is one view to serve.
type ViewTarget struct {
	View     layout.View                            // without maps
	ReadMaps func() (map[string]*layout.Map, error) // by manifest
}

// ConfiguredView is a view that an operation wants to serve.
type ConfiguredView struct {
	mirror.ViewSpec
	Err error // its maps cannot be read; it stays as it is
}

// ConfiguredViews reads the map files of all views. A view follows what they hold at the
// start of each operation.
func (t *Tree) ConfiguredViews() []ConfiguredView {
	views := make([]ConfiguredView, len(t.Views))
	for i, target := range t.Views {
		views[i] = ConfiguredView{ViewSpec: mirror.ViewSpec{View: target.View, Access: t.Access}}
		views[i].Maps, views[i].Err = target.ReadMaps()
	}
	return views
}

// arrange returns the view that follows from a change, nil if the served one stays. A
// view appears when all its manifests have data. Later, one without data is left out, the
// view of none is empty, and one that left the configuration stays until it is forgotten. The
// new view leaves the space that others reserved, and that of the views in the change.
func (t *Tree) arrange(v ConfiguredView, current mirror.Generation, change mirror.Change, others space.Amount) (*mirror.View, error) {
	records, served := current.After(change), current.Views[v.Name]
	if _, taken := records[v.Name]; taken {
		return nil, fmt.Errorf("view %s: current/%s is still a manifest that left the configuration: `syncd forget %s` removes it", v.Name, v.Name, v.Name)
	}
	isNew := served.Name == "" || slices.Contains(change.Remove, v.Name)
	if !isNew {
		v.ViewSpec = v.Keeping(served, records, func(name string) bool { return !t.Targets.Has(name) })
	}
	switch missing := v.Missing(records); {
	case v.Err != nil:
		return nil, fmt.Errorf("view %s: %w", v.Name, v.Err)
	case isNew && len(missing) > 0, !isNew && v.Matches(served, records):
		return nil, nil
	}
	made, unmapped, err := v.Arrange(records, t.Version)
	if err != nil {
		return nil, err
	}
	if err := room.CheckView(t.Mirror, made, change.Views, others); err != nil {
		return nil, err
	}
	if len(unmapped) > 0 && made.Fingerprint != served.Fingerprint {
		t.Log.Warn().Str("view", v.Name).Int("files", len(unmapped)).Str("first", unmapped[0]).
			Msg("no map places some files of the view; they lie where the provider's updater puts them")
	}
	return &made, nil
}

// orphanedViews returns, for views that left the configuration and show what the change
// replaces, an earlier view of what it brings: their readers need the earlier data, too. It
// comes from an earlier generation, because its configuration is gone.
func (t *Tree) orphanedViews(current mirror.Generation, change mirror.Change) (earlier []mirror.View, err error) {
	all, err := t.Mirror.Generations.All()
	if err != nil {
		return nil, err
	}
	for _, name := range t.orphanedViewNames() {
		wanted := revisionsAfter(current.Views[name], current, change)
		if wanted == nil {
			continue
		}
		i := slices.IndexFunc(all, func(g mirror.Generation) bool { return maps.Equal(g.Views[name].Revisions, wanted) })
		if i < 0 {
			t.Log.Warn().Str("view", name).Msg("the view left the configuration and still shows what the rollback left; no earlier one is on disk")
			continue
		}
		view := all[i].Views[name]
		view.PublishedAt = time.Now().UTC()
		earlier = append(earlier, view)
	}
	return earlier, nil
}

// revisionsAfter lists what a view is to show after a change. It is nil for a view that
// shows nothing of what the change replaces.
func revisionsAfter(v mirror.View, current mirror.Generation, change mirror.Change) map[string]string {
	after, replaced := maps.Clone(v.Revisions), false
	for _, record := range change.Set {
		if id, shown := after[record.Manifest]; shown && id == current.Records[record.Manifest].ID() {
			after[record.Manifest], replaced = record.ID(), true
		}
	}
	if !replaced {
		return nil
	}
	return after
}

// viewResult is the outcome of a view that was served, and of the attempt to make another.
func viewResult(v ConfiguredView, served mirror.View, made *mirror.View, err error) report.ViewResult {
	result := report.ViewResult{Name: v.Name, Layout: string(v.Layout), Fingerprint: served.Fingerprint, Files: len(served.Files), Result: report.Unchanged}
	switch {
	case err != nil:
		result.Result, result.Reason, result.Error = report.Failed, string(refusal.ReasonOf(err)), report.OneLine(err.Error())
		if result.Reason != "" {
			result.Result = report.Refused
		}
	case made != nil:
		result.Result, result.Fingerprint, result.Files = report.Updated, made.Fingerprint, len(made.Files)
	}
	return result
}
