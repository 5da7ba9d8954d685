package request

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Sync asks for one sync.
type Sync struct {
	Manifests   []string        `json:"manifests,omitempty"` // empty for all
	Demand      bool            `json:"demand,omitempty"`    // asked for by someone: check digests too, and ignore a back-off
	Force       bool            `json:"force,omitempty"`     // override shrink, downgrade, a hold and expiry
	Lockfile    json.RawMessage `json:"locked,omitempty"`    // a lock file: make exactly that, or nothing
	DryRun      bool            `json:"dry_run,omitempty"`   // plan only; change nothing
	TakeOver    []string        `json:"take_over,omitempty"` // views whose exported folders replace what lies there
	Trigger     string          `json:"trigger"`             // for log and history, see the Trigger constants
	SkipUnknown bool            `json:"-"`                   // skip manifests that left the configuration meanwhile

	// SetAside, if set, is asked about each manifest that failed or was refused. One that it
	// sets aside is in the result, but nothing is recorded of it except what was downloaded:
	// another source may have it. Finished is not called with it.
	SetAside func(manifest string, err error) bool `json:"-"`

	// Finished, if set, is called with each manifest whose outcome is recorded, while
	// others of the sync may go on.
	Finished func(manifest string) `json:"-"`
}

// Finish calls Finished.
func (s Sync) Finish(manifest string) {
	if s.Finished != nil {
		s.Finished(manifest)
	}
}

// SetsAside calls SetAside.
func (s Sync) SetsAside(manifest string, err error) bool {
	return err != nil && s.SetAside != nil && s.SetAside(manifest, err)
}

// The triggers of a sync or another entry of the history.
const (
	TriggerStart    = "start"
	TriggerSchedule = "schedule"
	TriggerSignal   = "signal"
	TriggerCommand  = "command"
	TriggerReload   = "reload"
	TriggerAPI      = "api"
	TriggerRollback = "rollback"
	TriggerRepair   = "repair"
	TriggerAdopt    = "adopt"
	TriggerImport   = "import" // a bundle, by command or because it appeared
	TriggerForget   = "forget"
	TriggerActivate = "activate"
	TriggerDiscard  = "discard"
	TriggerWindow   = "window" // the time opened in which staged revisions go live
	TriggerProbe    = "probe"  // the consumer does not work with what went live
	TriggerPin      = "pin"
	TriggerUnpin    = "unpin"
	TriggerHold     = "hold"
	TriggerSkip     = "skip"
	TriggerExpiry   = "expiry"  // data expired
	TriggerUnknown  = "unknown" // the history was lost and rebuilt from disk
)

// Rollback asks for a new generation with the revisions of an earlier one.
type Rollback struct {
	Generation int      `json:"generation,omitempty"` // 0 for the one before the current
	Manifests  []string `json:"manifests,omitempty"`  // empty for all
	Force      bool     `json:"force,omitempty"`      // also to what has expired
}

// Probe asks the consumers of what is served, once.
type Probe struct {
	Manifests []string `json:"manifests,omitempty"` // empty for all that have a probe
}

// Upload asks to publish what is served to object storage.
type Upload struct {
	Target string `json:"target,omitempty"` // the name of a place; empty for all

	DryRun  bool `json:"dry_run,omitempty"` // only say what would be done
	Collect bool `json:"collect,omitempty"` // also delete what nothing names any more

	Force bool `json:"force,omitempty"` // replace what another publisher has newer

	Verify bool `json:"verify,omitempty"` // only look whether the bucket has everything that it names
	Repair bool `json:"repair,omitempty"` // of a verification: upload again what is missing or damaged
	Read   bool `json:"read,omitempty"`   // of a verification: read all objects
	Paced  bool `json:"-"`                // of a verification: keep to scrub.rate
}

// Forget asks for a new generation without what left the configuration.
type Forget struct {
	Names   []string `json:"names,omitempty"` // empty for all that left it
	Trigger string   `json:"trigger"`         // for the history
}

// Destroy asks to destroy releases of a manifest for good.
type Destroy struct {
	Manifest string   `json:"manifest"`
	Releases []string `json:"releases"`
	DryRun   bool     `json:"dry_run,omitempty"` // only say what would go
}

// Activate asks to publish what is staged.
type Activate struct {
	Names   []string `json:"names,omitempty"`   // manifests and groups; empty for all that is ready
	Discard bool     `json:"discard,omitempty"` // drop it instead
	Again   bool     `json:"again,omitempty"`   // ask gates again that refused it
	Force   bool     `json:"force,omitempty"`   // also what has expired
	Trigger string   `json:"trigger"`           // for the history

	// Revision, if set, is the one that waits: nothing is done when another one waits by then.
	Revision string `json:"revision,omitempty"`
}

// Order notes what an operator says about manifests. Trigger says which order it is: pin,
// unpin, hold or skip.
type Order struct {
	Manifests []string  `json:"manifests"`
	Release   string    `json:"release,omitempty"` // to pin or to skip
	Until     time.Time `json:"until,omitzero"`    // of a hold; one in the past ends it
	Undo      bool      `json:"undo,omitempty"`    // do not skip any longer
	Force     bool      `json:"force,omitempty"`   // pin also what has expired
	Trigger   string    `json:"trigger"`
}

// Verify asks to re-read what is served.
type Verify struct {
	Manifests []string `json:"manifests,omitempty"` // empty for all
	Rate      int64    `json:"rate,omitempty"`      // bytes per second at most; 0 for no limit
}

// Adopt asks to use the files of a folder that another program filled.
type Adopt struct {
	Folder    string   `json:"folder"`              // absolute
	Manifests []string `json:"manifests,omitempty"` // empty for all
	Move      bool     `json:"move,omitempty"`      // take the files out of the folder
	Force     bool     `json:"force,omitempty"`     // also for a release that has expired
}

// Import asks to take what a bundle has.
type Import struct {
	Files    []string `json:"files"`              // absolute, in any order
	Unsigned bool     `json:"unsigned,omitempty"` // believe it without a signature
	Force    bool     `json:"force,omitempty"`    // as of Sync; also a bundle that is older, or of another publisher
	DryRun   bool     `json:"dry_run,omitempty"`
}

// Bundle asks for the texts of a bundle of what is live.
type Bundle struct{}

// Deliveries asks to try deliveries again, or to drop them.
type Deliveries struct {
	ID   string `json:"id"`             // of the event
	Hook string `json:"hook,omitempty"` // empty for all
	Drop bool   `json:"drop,omitempty"`
}

// Fleet asks for a page of the followers that fit. "" fits all.
type Fleet struct {
	Ring    string    `json:"ring,omitempty"`
	State   string    `json:"state,omitempty"`
	Release string    `json:"release,omitempty"` // that it serves, or that it refused
	After   *Follower `json:"after,omitempty"`   // the last one of the page before; nil for the first page
	Limit   int       `json:"limit,omitempty"`   // hosts of a page at most; 0 for as many as a page can have
}

// Follower names a host that follows this one.
type Follower struct {
	Name     string `json:"name"`
	Host     string `json:"host"`
	Instance string `json:"instance"`
}

// Text names the host in an address: NAME/HOST/INSTANCE.
func (f Follower) Text() string { return f.Name + "/" + f.Host + "/" + f.Instance }

// ParseFollower reads what Text returned; nil for "".
func ParseFollower(text string) (*Follower, error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return nil, fmt.Errorf("after is not of the form NAME/HOST/INSTANCE: take it from next of the page before")
	}
	return &Follower{parts[0], parts[1], parts[2]}, nil
}

// ServeRelease asks to let a release go on to later rings.
type ServeRelease struct {
	Release string `json:"release"`
}

// UnknownManifestError says that a request names a manifest that is not in the
// configuration.
type UnknownManifestError struct {
	Name     string
	OfDaemon bool // of the daemon, which may have loaded an earlier file
}

func (e *UnknownManifestError) Error() string {
	if e.OfDaemon {
		return fmt.Sprintf("manifest %q is not in the configuration of the running syncd: send it SIGHUP (`systemctl reload syncd`) if the file has it", e.Name)
	}
	return fmt.Sprintf("manifest %q is not in the configuration", e.Name)
}
