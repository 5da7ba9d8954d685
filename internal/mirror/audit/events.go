package audit

import (
	"bufio"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// treesOf names the tree of each manifest and view of a generation, and since when it
// has been served.
func treesOf(g mirror.Generation) map[string]Event {
	trees := map[string]Event{}
	for name, record := range g.Records {
		trees[name] = Event{record.PublishedAt, g.Number, name, record.ID()}
	}
	for name, view := range g.Views {
		trees[name] = Event{view.PublishedAt, g.Number, name, view.Fingerprint}
	}
	return trees
}

// changes are the events that lead from the last ones to a generation. A manifest without
// an event has been served since its record says, one with another tree since the swap.
func changes(before []Event, g mirror.Generation) (added []Event) {
	last := map[string]Event{}
	for _, e := range before {
		last[e.Name] = e
	}
	now := treesOf(g)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		e := now[name]
		then, known := last[name]
		if then.Tree == e.Tree {
			continue
		}
		if known || e.At.IsZero() {
			e.At = g.PublishedAt
		}
		e.At = e.At.UTC()
		added = append(added, e)
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		if _, served := now[name]; !served && last[name].Tree != "" {
			added = append(added, Event{At: g.PublishedAt.UTC(), Generation: g.Number, Name: name})
		}
	}
	return added
}

// prune drops the events that another one of the same name replaced before horizon.
func prune(list []Event, horizon time.Time) []Event {
	replaced := map[string]time.Time{} // when the next event came
	var kept []Event
	for _, e := range slices.Backward(list) {
		next, isReplaced := replaced[e.Name]
		replaced[e.Name] = e.At
		if isReplaced && next.Before(horizon) || e.Tree == "" && !isReplaced && e.At.Before(horizon) {
			continue
		}
		kept = append(kept, e)
	}
	slices.Reverse(kept)
	return kept
}

// At returns the events that were in force at a time, by name.
func At(list []Event, at time.Time) map[string]Event {
	served := map[string]Event{}
	for _, e := range list {
		if !e.At.After(at) {
			served[e.Name] = e
		}
	}
	maps.DeleteFunc(served, func(_ string, e Event) bool { return e.Tree == "" })
	return served
}

// File is one file of a tree.
type File struct {
	Path   string            `json:"path"` // as below current/
	Object manifest.ObjectID `json:"sha256"`
}

// Files lists the files of an event's tree at a path or below it.
func Files(root *fsops.Dir, e Event, path string) ([]File, error) {
	if manifest.CheckSegment(e.Name) != nil || manifest.CheckSegment(e.Tree) != nil {
		return nil, fmt.Errorf("the record of %q is damaged", e.Name)
	}
	f, err := root.OpenRegular(filepath.Join(trees, e.Name, e.Tree))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var files []File
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		digest, name, _ := strings.Cut(lines.Text(), "  ")
		if name != path && !strings.HasPrefix(name, path+"/") {
			continue
		}
		id, err := manifest.ParseObjectID(digest)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		files = append(files, File{name, id})
	}
	return files, lines.Err()
}

// left are the trees of a manifest that stand at the end of a way back: all that were served
// before, and are newer than what the host went back to. A way forward to one of them brings
// back those up to it, so that a rollback that is undone changes nothing.
func left(list []Event, name string) map[string]bool {
	gone, seen := map[string]bool{}, map[string]bool{}
	var before string
	for _, e := range list {
		if e.Name != name || e.Tree == "" {
			continue
		}
		release := releaseOf(e.Tree)
		wentBack := releaseOf(before).Newer(release)
		if wentBack || seen[e.Tree] && releaseOf(before) == release {
			gone[before] = true
		}
		for tree := range seen {
			switch isNewer := releaseOf(tree).Newer(release); {
			case wentBack && isNewer:
				gone[tree] = true
			case !wentBack && !isNewer && seen[e.Tree] && releaseOf(tree) != release:
				delete(gone, tree)
			}
		}
		delete(gone, e.Tree)
		seen[e.Tree], before = true, e.Tree
	}
	return gone
}

// releaseOf is the release in the name of a manifest's tree.
func releaseOf(tree string) manifest.Release {
	return manifest.Release(tree[:max(strings.LastIndexByte(tree, '-'), 0)])
}
