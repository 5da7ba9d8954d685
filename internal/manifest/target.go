package manifest

// Target is what the configuration and the operator's orders say about one manifest:
// a manifest of the provider with that name, or single files.
type Target struct {
	Name    string
	Release Release     // latest, an alias, or a pinned month
	Files   []Reference // single files, each with a Release as above; empty for a manifest
	Filter  Filter
	Skip    []Release // by command; not part of the configuration
}
