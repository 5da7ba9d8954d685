package staging

import (
	"cmp"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/manifest/expiry"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
)

// Revision is one that is not served, and what is known of it.
type Revision struct {
	Manifest string           `json:"manifest"`
	Release  manifest.Release `json:"release"`
	Revision string           `json:"revision"`
	Since    time.Time        `json:"since"`    // when it was complete
	Expected string           `json:"promised"` // fingerprint of the Hash endpoint's digests
	Files    int              `json:"files"`
	Bytes    int64            `json:"bytes"`
	Views    []string         `json:"views,omitempty"`   // keys of the trees that the gate saw
	Verdict  *Verdict         `json:"verdict,omitempty"` // of the last gate that ran
	Dropped  bool             `json:"dropped,omitempty"` // discarded: nothing of it is on disk
	Terms    string           `json:"terms,omitempty"`   // the gate and the configuration then; others bring it back
	Forced   string           `json:"forced,omitempty"`  // ID of the served revision that it may replace, although a rollback keeps that
	Again    string           `json:"again,omitempty"`   // the same for the served revision that a failed probe brought back
}

// Verdict is what a gate said of a revision.
type Verdict struct {
	Gate        string    `json:"gate"`              // fingerprint of the gate
	Against     string    `json:"against,omitempty"` // ID of the served revision that it was compared with
	At          time.Time `json:"at"`
	Passed      bool      `json:"passed"`
	Error       string    `json:"error,omitempty"`
	Lines       []string  `json:"lines,omitempty"`       // the last ones of the command's output
	Differences []string  `json:"differences,omitempty"` // the first ones, if outputs were compared

	Expires expiry.Day `json:"expires,omitempty"` // that the gate told; "" for none

	// Reason is that of the refusal, "" for the gate's. A refusal of the probe counts
	// whatever the gate says: the revision has been live.
	Reason refusal.Reason `json:"reason,omitempty"`
}

// Refusal is the verdict as an error, nil if it passed.
func (v Verdict) Refusal() error {
	if v.Passed {
		return nil
	}
	return refusal.New(cmp.Or(v.Reason, refusal.Gate), "%s", v.Error)
}

// ID names the revision's directory.
func (e Revision) ID() string { return string(e.Release) + "-" + e.Revision }

// Of returns the entry of a record that is complete now.
func Of(record mirror.Record, views []mirror.View, now time.Time) Revision {
	e := Revision{
		Manifest: record.Manifest, Release: record.Release, Revision: record.Revision, Since: now.UTC(),
		Expected: record.Fingerprint(), Files: len(record.Files), Bytes: record.Bytes,
	}
	for _, v := range views {
		e.Views = append(e.Views, v.Key())
	}
	return e
}

// IsQuarantined is true after a gate or a probe refused the revision.
func (e Revision) IsQuarantined() bool { return e.Verdict != nil && !e.Verdict.Passed }

// IsUndone is true for a revision that was live, and that the consumer did not work with.
func (e Revision) IsUndone() bool { return e.IsQuarantined() && e.Verdict.Reason == refusal.Probe }

// IsStaged is true for a revision that may go live, now or later.
func (e Revision) IsStaged() bool { return e.Manifest != "" && !e.Dropped && !e.IsQuarantined() }

// IsLeft is true for a discarded revision that a sync by the schedule does not fetch again.
// An earlier syncd kept no terms.
func (e Revision) IsLeft(terms string, gate Gate) bool {
	isOtherGate := e.Verdict != nil && e.Verdict.Gate != gate.ID
	return e.Dropped && (e.Terms == terms || e.Terms == "" && !isOtherGate)
}

// Judged returns the verdict of a gate, if it has one that counts: a gate that was
// changed, or compares with another revision now, must run again.
func (e Revision) Judged(gate Gate, served string) *Verdict {
	v := e.Verdict
	if e.IsUndone() {
		return v
	}
	if v == nil || v.Gate != gate.ID || gate.Compares && v.Against != served {
		return nil
	}
	return v
}

// Gate identifies the gate of a manifest.
type Gate struct {
	ID       string // "" for none
	Compares bool   // the verdict depends on the served revision
}

// Passes is true if the revision needs no gate, or its gate passed it.
func (e Revision) Passes(gate Gate, served string) bool {
	if gate.ID == "" {
		return !e.IsQuarantined()
	}
	v := e.Judged(gate, served)
	return v != nil && v.Passed
}
