package report

import "slices"

// Explanation is one sentence about a part of what syncd does, as `explain --json` prints it.
type Explanation struct {
	Kind        string               `json:"kind"` // manifest, view, export, scrub, publish, source, upstream or hook
	Name        string               `json:"name"` // of the view for an export; of one of several places for publish; "" for scrub and upstream
	State       string               `json:"state,omitempty"`
	Explanation string               `json:"explanation"`
	Quarantined *QuarantinedRevision `json:"quarantined,omitempty"` // the revision that the gate or the probe refused; nil for none
}

// Explanations returns a sentence for each manifest, or for the named ones, and without
// names also for all else that there is something to say about.
func (s Status) Explanations(names []string) []Explanation {
	list := []Explanation{}
	for _, m := range s.Manifests {
		if len(names) == 0 || slices.Contains(names, m.Name) {
			list = append(list, Explanation{"manifest", m.Name, string(m.State), m.Explanation, m.Quarantined})
		}
	}
	if len(names) > 0 {
		return list
	}
	for _, v := range s.Views {
		list = append(list, Explanation{Kind: "view", Name: v.Name, State: string(v.State), Explanation: v.Explanation})
	}
	for _, e := range s.Exports {
		list = append(list, Explanation{Kind: "export", Name: e.View, State: string(e.State), Explanation: e.Explanation})
	}
	if s.Scrub != nil {
		list = append(list, Explanation{Kind: "scrub", Explanation: s.Scrub.Explanation})
	}
	if s.Upload != nil {
		for _, t := range s.Upload.All() {
			list = append(list, Explanation{Kind: "publish", Name: t.Target, Explanation: t.Explanation})
		}
	}
	for _, source := range s.Sources {
		list = append(list, Explanation{Kind: "source", Name: source.Name, Explanation: source.Explanation})
	}
	if s.Upstream != nil {
		list = append(list, Explanation{Kind: "upstream", Explanation: s.Upstream.Explanation})
	}
	for _, h := range s.Hooks {
		list = append(list, Explanation{Kind: "hook", Name: h.Name, Explanation: h.Explanation()})
	}
	return slices.DeleteFunc(list, func(e Explanation) bool { return e.Explanation == "" && e.Kind != "manifest" && e.Kind != "view" })
}
