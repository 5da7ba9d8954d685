package commandline

import (
	"path"
	"slices"
	"strings"
)

// mount is a folder of the host inside a container. outside is "" for a volume that the
// container engine keeps.
type mount struct{ inside, outside string }

// Outside is the path on the host of a path that a command uses.
func (c Command) Outside(inside string) (file string, known bool) {
	if c.mounts == nil { // it runs in no container
		return inside, true
	}
	for _, m := range c.mounts {
		rest, isBelow := strings.CutPrefix(inside, m.inside)
		if isBelow && m.outside != "" && (rest == "" || rest[0] == '/' || m.inside == "/") {
			return path.Join(m.outside, rest), true
		}
	}
	return "", false
}

// sortMounts puts the mount that counts for a path before others: the deepest.
func sortMounts(mounts []mount) []mount {
	slices.SortStableFunc(mounts, func(a, b mount) int { return len(b.inside) - len(a.inside) })
	return mounts
}

// mountsOf returns the mounts of `docker run` and the like. The words are those before the
// verb of the updater.
func mountsOf(words []Word) (mounts []mount, isContainer bool) {
	engine := slices.IndexFunc(words, func(w Word) bool { return slices.Contains([]string{"docker", "podman", "nerdctl"}, programOf(w)) })
	if engine < 0 || !slices.ContainsFunc(words[engine:], func(w Word) bool { return w.Text == "run" }) {
		return nil, false
	}
	mounts = []mount{}
	for i := engine; i < len(words); i++ {
		text, value, given := strings.Cut(words[i].Text, "=")
		if !given && i+1 < len(words) {
			value = words[i+1].Text
		}
		switch text {
		case "-v", "--volume":
			if m, ok := volume(value); ok {
				mounts = append(mounts, m)
			}
		case "--mount":
			mounts = append(mounts, longMount(value))
		}
	}
	return sortMounts(mounts), true
}

// volume reads OUTSIDE:INSIDE:OPTIONS.
func volume(text string) (m mount, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || !path.IsAbs(parts[1]) {
		return mount{}, false
	}
	m.inside = path.Clean(parts[1])
	if path.IsAbs(parts[0]) {
		m.outside = path.Clean(parts[0])
	}
	return m, true
}

// longMount reads type=bind,source=OUTSIDE,target=INSIDE.
func longMount(text string) mount {
	var m mount
	for pair := range strings.SplitSeq(text, ",") {
		switch key, value, _ := strings.Cut(pair, "="); key {
		case "source", "src":
			m.outside = value
		case "target", "destination", "dst":
			m.inside = path.Clean(value)
		}
	}
	if !path.IsAbs(m.outside) {
		m.outside = ""
	}
	return m
}
