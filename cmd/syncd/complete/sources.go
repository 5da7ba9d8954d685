package complete

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"syncd/internal/config"
	"syncd/internal/downstream/serve"
	"syncd/internal/engine"
	"syncd/internal/mirror"
	"syncd/internal/mirror/revisions"
	"syncd/internal/report"
)

// source returns what an argument can be: a value each, with a description after a tab.
// args are the arguments before it.
type source func(l *look, args []string) []string

// configured are the manifests of the configuration.
func configured(l *look, _ []string) []string { return l.cfg.Names() }

// manifests are those of the configuration, and those that are served although they left it.
func manifests(l *look, _ []string) []string {
	names := slices.AppendSeq(slices.Clone(l.cfg.Names()), maps.Keys(l.served()))
	slices.Sort(names)
	return slices.Compact(names)
}

// waiting are the manifests and groups with something staged or refused by a gate.
func waiting(l *look, _ []string) (names []string) {
	for _, m := range l.status().Manifests {
		switch {
		case m.Staged != nil:
			names = append(names, m.Name+"\t"+m.Staged.Release+" is staged")
		case m.Quarantined != nil:
			names = append(names, m.Name+"\t"+m.Failing+" was refused by the gate")
		}
	}
	for _, g := range l.cfg.Groups {
		names = append(names, g.Name+"\tgroup of "+strings.Join(g.Manifests, ", "))
	}
	return names
}

// orphaned are the manifests and views that left the configuration and are served.
func orphaned(l *look, _ []string) (names []string) {
	if l.mirror == nil {
		return nil
	}
	current := l.mirror.Current()
	for _, name := range slices.Sorted(maps.Keys(current.Records)) {
		if !l.cfg.Has(name) {
			names = append(names, name)
		}
	}
	for _, v := range current.Views {
		if !slices.ContainsFunc(l.cfg.Views, func(c config.View) bool { return c.Name == v.Name }) {
			names = append(names, v.Name)
		}
	}
	return names
}

// pinned are the manifests with a pin.
func pinned(l *look, _ []string) (names []string) {
	for _, m := range l.status().Manifests {
		if m.Pin != "" {
			names = append(names, m.Name+"\tpinned to "+m.Pin)
		}
	}
	return names
}

// releasesOf are the known releases of the manifest before, the newest first.
func releasesOf(l *look, args []string) []string { return l.releases(args[0]) }

// revisionsOf are the revisions on disk of the manifest before.
func revisionsOf(l *look, args []string) []string {
	if l.mirror == nil {
		return nil
	}
	all := []string{revisions.Served, revisions.Staged}
	return append(all, l.mirror.Records.RevisionIDs(args[0])...)
}

// allReleases are the known releases of all manifests.
func allReleases(l *look, _ []string) []string { return l.releases(manifests(l, nil)...) }

// releases are those on disk and those that the last check heard of.
func (l *look) releases(names ...string) (all []string) {
	for _, m := range l.status().Manifests {
		if slices.Contains(names, m.Name) {
			all = append(all, m.Newest, m.Release, m.Failing, m.Pin)
			all = append(all, m.Skips...)
		}
	}
	if l.mirror != nil {
		for _, name := range names {
			for _, id := range l.mirror.Records.RevisionIDs(name) {
				release, _, _ := strings.Cut(id, "-")
				all = append(all, release)
			}
		}
	}
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(release string) bool { return release == "" })
	slices.Reverse(all)
	return all
}

// earlier are the generations that a rollback can go to.
func earlier(l *look, _ []string) (numbers []string) {
	for _, g := range l.generations() {
		var shown []string
		for _, name := range g.Names() {
			shown = append(shown, name+" "+string(g.Records[name].Release))
		}
		numbers = append(numbers, fmt.Sprintf("%d\t%s", g.Number, strings.Join(shown, ", ")))
	}
	return numbers
}

// references are the served files, as the provider names them.
func references(l *look, _ []string) []string {
	return l.files(func(_ string, f mirror.File) string { return f.Reference.String() })
}

// paths are the served files, as below current/.
func paths(l *look, _ []string) []string {
	return l.files(func(name string, f mirror.File) string { return name + "/" + f.Path })
}

func (l *look) files(text func(name string, f mirror.File) string) (all []string) {
	for name, record := range l.served() {
		for _, f := range record.Files {
			all = append(all, text(name, f))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// exports are the views with an exported folder.
func exports(l *look, _ []string) (names []string) {
	for _, e := range engine.Exports(l.cfg) {
		names = append(names, e.View+"\t"+e.Path)
	}
	return names
}

// events are the ids of the events that hooks were not told yet.
func events(l *look, _ []string) (ids []string) {
	for _, d := range l.deliveries() {
		ids = append(ids, fmt.Sprintf("%s\t%s %s for %s, %s", d.ID, d.Event, d.Manifest, d.Hook, d.State))
	}
	return ids
}

// hooks are those of the configuration, and those with deliveries that are left.
func hooks(l *look, _ []string) (names []string) {
	for _, h := range l.cfg.Hooks {
		names = append(names, h.Name)
	}
	for _, d := range l.deliveries() {
		names = append(names, d.Hook)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func rings(l *look, _ []string) (names []string) {
	for _, r := range l.cfg.Serve.Rings {
		names = append(names, r.Name)
	}
	return names
}

func followerStates(*look, []string) (names []string) {
	for _, state := range report.FollowerStates() {
		names = append(names, string(state))
	}
	return names
}

// followers are the names in the file of the ids.
func followers(l *look, _ []string) (names []string) {
	if l.cfg.Serve.IDsFile == "" {
		return nil
	}
	ids, err := serve.ReadIDs(l.cfg.Serve.IDsFile)
	if err != nil {
		return nil
	}
	for _, id := range ids {
		names = append(names, id.Name)
	}
	return names
}

// fixed are values that depend on nothing.
func fixed(values ...string) source {
	return func(*look, []string) []string { return values }
}
