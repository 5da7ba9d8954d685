package probe

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
)

// Trial is a revision that went live while its manifest had a probe.
type Trial struct {
	Release  manifest.Release `json:"release"`
	Revision string           `json:"revision"`
	Since    time.Time        `json:"since"` // when it went live

	Previous string `json:"previous,omitempty"` // revision that was served until then; "" for none

	Back  string             `json:"back,omitempty"`  // ID of the revision to go back to; "" for none
	With  map[string]Swapped `json:"with,omitempty"`  // other manifests of the group that the same swap changed
	Stays bool               `json:"stays,omitempty"` // it stays whatever the consumer says: it came by going back

	Unasked bool `json:"unasked,omitempty"` // the manifest has no probe: it went back with its group

	Undone  []Undone `json:"undone,omitempty"`  // the revisions that went back to it because their probe failed, the last one first
	Verdict *Verdict `json:"verdict,omitempty"` // nil until there is one
}

// Swapped are the IDs of a manifest's revisions after and before a swap.
type Swapped struct {
	ID   string `json:"id"`
	Back string `json:"back,omitempty"`
}

// Undone is a revision that went back.
type Undone struct {
	Release  manifest.Release `json:"release"`
	Revision string           `json:"revision"`
	Error    string           `json:"error"`
	Lines    []string         `json:"lines,omitempty"`
}

// ID names the directory of the revision.
func (u Undone) ID() string { return string(u.Release) + "-" + u.Revision }

// Verdict is what the consumer said in the end.
type Verdict struct {
	At      time.Time `json:"at"`
	Passed  bool      `json:"passed"`
	Error   string    `json:"error,omitempty"`
	Lines   []string  `json:"lines,omitempty"`
	Seconds float64   `json:"seconds"` // since the revision went live
}

// ID names the directory of the revision.
func (t Trial) ID() string { return string(t.Release) + "-" + t.Revision }

// IsPending is true while there is no verdict.
func (t Trial) IsPending() bool { return t.Release != "" && t.Verdict == nil && !t.Unasked }

// IsWithheld is true for a revision that is not passed on to other hosts: it may go back.
func (t Trial) IsWithheld() bool { return t.IsPending() && !t.Stays }

// Dir is the directory of the trials, below the data directory.
const Dir = "state/probes"

// Notes are the trials of a data directory. Safe for concurrent use.
type Notes struct {
	root *fsops.Dir
	disk *durable.Disk

	// Changed is called after each change, by the goroutine that made it. It is set before
	// the first one; nil means not at all.
	Changed func()

	writing sync.Mutex // held while files change; a change is on disk before it is in trials

	mu     sync.Mutex // guards trials; never held across the disk
	trials map[string][]Trial
}

// Open reads the trials of a data directory.
func Open(root *fsops.Dir, disk *durable.Disk) (*Notes, error) {
	if err := root.SweepTemps(Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	trials, err := Read(root)
	return &Notes{root: root, disk: disk, trials: trials}, err
}

// Read returns the trials on disk, by manifest. It leaves out files that it cannot read.
func Read(root *fsops.Dir) (map[string][]Trial, error) {
	all := map[string][]Trial{}
	names, err := root.Names(Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	for _, name := range names {
		f, err := root.OpenRegular(filepath.Join(Dir, name))
		if err != nil {
			continue
		}
		var trials []Trial
		if json.NewDecoder(f).Decode(&trials) == nil {
			all[name] = trials
		}
		f.Close()
	}
	return all, err
}

// Of returns the trial of a revision, the zero value for none. A nil Notes has none.
func (n *Notes) Of(name, id string) Trial {
	if n == nil {
		return Trial{}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return Find(n.trials[name], id)
}

// Trials returns the trials of all manifests.
func (n *Notes) Trials() map[string][]Trial {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.trials)
}

// Find returns the trial of a revision, the zero value for none.
func Find(trials []Trial, id string) Trial {
	if i := slices.IndexFunc(trials, func(t Trial) bool { return t.ID() == id }); i >= 0 {
		return trials[i]
	}
	return Trial{}
}

// Pending lists the manifests whose served revision, as an ID, has no verdict yet.
func (n *Notes) Pending(served func(name string) (id string)) (names []string) {
	for _, name := range n.Names() {
		if n.Of(name, served(name)).IsPending() {
			names = append(names, name)
		}
	}
	return names
}

// Names lists the manifests that have trials.
func (n *Notes) Names() []string {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.trials))
}

// maxTrials is how many trials of a manifest are kept.
const maxTrials = 5

// Begin makes a trial durable, before its revision goes live. Beside it stay the trial of the
// revision that is served until then, and those of earlier ones that have no verdict yet: it
// may go back to them.
func (n *Notes) Begin(name, served string, t Trial) error {
	return n.change(name, func(trials []Trial) []Trial {
		trials = slices.DeleteFunc(trials, func(other Trial) bool {
			return other.ID() == t.ID() || other.ID() != served && !other.IsWithheld()
		})
		return append(trials[max(len(trials)-maxTrials+1, 0):], t)
	})
}

// Proven returns the ID of the revision to go back to from one that has no verdict yet, past
// all others that have none. It is that of the revision itself if it has one, and "" for none.
func (n *Notes) Proven(name, id string) string {
	for range maxTrials {
		t := n.Of(name, id)
		if !t.IsWithheld() {
			break
		}
		id = t.Back
	}
	return id
}

// Backs returns the IDs of the revisions that failed probes go back to, by manifest.
func (n *Notes) Backs() map[string][]string {
	backs := map[string][]string{}
	if n == nil {
		return backs
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, trials := range n.trials {
		for _, t := range trials {
			if !t.IsWithheld() {
				continue
			}
			backs[name] = append(backs[name], t.Back)
			for mate, with := range t.With {
				backs[mate] = append(backs[mate], with.Back)
			}
		}
	}
	return backs
}

// Went notes when a revision went live.
func (n *Notes) Went(name, id string, at time.Time) error {
	return n.update(name, id, func(t *Trial) { t.Since = at })
}

// Settle makes a verdict durable.
func (n *Notes) Settle(name, id string, v Verdict) error {
	return n.update(name, id, func(t *Trial) { t.Verdict = &v })
}

// Again drops a verdict, so that the consumer is asked again. The revision stays.
func (n *Notes) Again(name, id string, now time.Time) error {
	return n.update(name, id, func(t *Trial) { t.Verdict, t.Stays, t.Since = nil, true, now })
}

func (n *Notes) update(name, id string, change func(*Trial)) error {
	return n.change(name, func(trials []Trial) []Trial {
		for i := range trials {
			if trials[i].ID() == id {
				change(&trials[i])
			}
		}
		return trials
	})
}

// errDestroyed stands in the place of what a consumer said about destroyed data.
const errDestroyed = "the probe failed; its answer was destroyed with the data"

// Destroy drops what consumers have said about a revision that is not served: their answers
// may quote the data.
func (n *Notes) Destroy(name, id string) error {
	return n.change(name, func(trials []Trial) []Trial {
		trials = slices.DeleteFunc(trials, func(t Trial) bool { return t.ID() == id })
		for i := range trials {
			undone := slices.Clone(trials[i].Undone)
			for j, u := range undone {
				if u.ID() == id {
					undone[j] = Undone{Release: u.Release, Revision: u.Revision, Error: errDestroyed}
				}
			}
			trials[i].Undone = undone
		}
		return trials
	})
}

// Forget drops the trials of a manifest.
func (n *Notes) Forget(name string) error {
	return n.change(name, func([]Trial) []Trial { return nil })
}

func (n *Notes) change(name string, change func([]Trial) []Trial) error {
	if n == nil {
		return nil
	}
	n.writing.Lock()
	defer n.writing.Unlock()
	n.mu.Lock()
	before := n.trials[name]
	n.mu.Unlock()
	now := change(slices.Clone(before))
	if len(before) == 0 && len(now) == 0 {
		return nil
	}
	if err := n.write(name, now); err != nil {
		return err
	}
	n.mu.Lock()
	if n.trials[name] = now; len(now) == 0 {
		delete(n.trials, name)
	}
	n.mu.Unlock()
	if n.Changed != nil {
		n.Changed()
	}
	return nil
}

func (n *Notes) write(name string, trials []Trial) error {
	file := filepath.Join(Dir, name)
	if len(trials) == 0 {
		if err := n.root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return n.disk.SyncDir(n.root, Dir)
	}
	if err := n.root.EnsureDir(Dir, 0o700); err != nil {
		return err
	}
	if err := n.disk.SyncDir(n.root, filepath.Dir(Dir)); err != nil {
		return err
	}
	return n.disk.ReplaceFile(n.root, file, 0o600, func(w io.Writer) error { return json.NewEncoder(w).Encode(trials) })
}
