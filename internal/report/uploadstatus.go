package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
)

// UploadStatus is what `status --json` prints of publishing to object storage. Unknown
// times are null.
type UploadStatus struct {
	Place        string          `json:"place"`
	State        State           `json:"state"`         // in_sync, pending, failed or standby
	Generation   int             `json:"generation"`    // in the bucket, when this host looked last; 0 for none
	PublishedAt  *time.Time      `json:"published_at"`  // when this host wrote a generation last
	FailingSince *time.Time      `json:"failing_since"` // publishing, or deleting garbage; null while neither does
	Error        string          `json:"error"`         // of the last attempt
	Election     *ElectionStatus `json:"election"`      // null without one
	Explanation  string          `json:"explanation"`

	Publisher    string     `json:"publisher"`     // that wrote the generation; "" while it is unknown
	GenerationAt *time.Time `json:"generation_at"` // when
	Epoch        int64      `json:"epoch"`
	Kept         []string   `json:"kept"`               // manifests that are newer there
	Replaced     string     `json:"replaced,omitempty"` // the publisher whose generation this host replaced last; "" for its own

	Verification *UploadCheckStatus `json:"verification"` // null before the first

	Retry *Retry `json:"retry,omitempty"` // of a request to the bucket; absent while none is repeated

	Signed *Signed `json:"signed,omitempty"` // absent without signatures

	Target  string          `json:"target,omitempty"`  // the name of the place; absent for the only one
	Targets []*UploadStatus `json:"targets,omitempty"` // of several: the rest is that of the first that needs attention
}

// UploadCheckStatus is what the last verification of the bucket found.
type UploadCheckStatus struct {
	At       time.Time `json:"at"`
	Objects  int       `json:"objects"`
	Bytes    int64     `json:"bytes"`
	Found    int       `json:"found"`    // missing or damaged
	Repaired int       `json:"repaired"` // of these
	First    string    `json:"first"`    // of those that are left, and what is wrong
}

// StateDamaged says that a verification has left something missing or damaged.
const StateDamaged State = "damaged"

// StateSuperseded says that the generation in the bucket is another publisher's, and its data
// is not the data served here.
const StateSuperseded State = "superseded"

// StateStandby says that another publisher holds the lease.
const StateStandby State = "standby"

// ElectionStatus says who publishes.
type ElectionStatus struct {
	Leads  bool   `json:"leads"`  // this host does
	Holder string `json:"holder"` // of the lease; "" while it is unknown, and without a daemon
}

// SumStatus is the status of several places: that of the first one that needs attention, with
// those of all.
func SumStatus(targets []*UploadStatus) *UploadStatus {
	isWell := func(t *UploadStatus) bool { return t.State == StateInSync || t.State == StateStandby }
	worst := targets[0]
	for _, t := range targets {
		if isBad := t.State == StateFailed && worst.State != StateFailed; isBad || isWell(worst) && !isWell(t) {
			worst = t
		}
	}
	sum := *worst
	sum.Targets = targets
	return &sum
}

// All are the places.
func (p *UploadStatus) All() []*UploadStatus {
	if len(p.Targets) > 0 {
		return p.Targets
	}
	return []*UploadStatus{p}
}

// explain explains the status of a place, and those of all places.
func (p *UploadStatus) explain(now time.Time) {
	for _, t := range p.Targets {
		t.explain(now)
	}
	p.Explanation = OneLine(p.sentence(now))
	if p.Target != "" {
		p.Explanation = p.Target + ": " + p.Explanation
	}
}

// sentence explains the state of the bucket.
func (p UploadStatus) sentence(now time.Time) string {
	at := func(t *time.Time) string { return Moment(t.In(now.Location())) }
	var text string
	switch {
	case p.State == StateFailed:
		text = fmt.Sprintf("publishing to %s fails since %s: %s", p.Place, at(p.FailingSince), p.Error)
		if p.Generation > 0 {
			text += fmt.Sprintf("; followers keep generation %d", p.Generation)
		}
	case p.State == StateStandby:
		text = fmt.Sprintf("this host is on standby and does not publish to %s", p.Place)
	case p.State == StateSuperseded:
		text = fmt.Sprintf("generation %d in %s is %s's", p.Generation, p.Place, p.Publisher)
		if p.GenerationAt != nil {
			text += " since " + at(p.GenerationAt)
		}
		if text += ", and not what is served here: "; len(p.Kept) > 0 {
			text += fmt.Sprintf("it has something newer of %s; `syncd publish --force` takes the place over", strings.Join(p.Kept, ", "))
		} else {
			text += "its operator took the place with `syncd publish --force`, which also takes it back"
		}
	case p.State == StateDamaged:
		text = fmt.Sprintf("what followers may read in %s, up to generation %d, is not whole", p.Place, p.Generation)
	case p.State == StateInSync:
		text = fmt.Sprintf("generation %d in %s shows what is served", p.Generation, p.Place)
		if len(p.Kept) > 0 {
			text += fmt.Sprintf(", but something newer of another publisher for %s", strings.Join(p.Kept, ", "))
		}
		if p.PublishedAt != nil {
			text += ", this host published last at " + at(p.PublishedAt)
			if p.Replaced != "" {
				text += ", in the place of a generation of " + p.Replaced
			}
		}
	case p.Generation > 0:
		text = fmt.Sprintf("what is served is not yet in %s, followers see its generation %d", p.Place, p.Generation)
	default:
		text = fmt.Sprintf("this host has published nothing to %s yet", p.Place)
	}
	if p.Signed != nil {
		text += "; it is " + p.Signed.Text()
	}
	if p.State != StateFailed && p.FailingSince != nil {
		text += fmt.Sprintf("; deleting garbage there fails since %s: %s", at(p.FailingSince), p.Error)
	}
	if v := p.Verification; v != nil {
		text += v.sentence(at(&v.At))
	}
	if p.Retry != nil {
		text += "; a request there is repeated: " + p.Retry.Text(now)
	}
	switch e := p.Election; {
	case e == nil || e.Holder == "":
	case e.Leads:
		text += "; this host holds the lease"
	default:
		text += "; " + e.Holder + " holds the lease"
	}
	return text
}

// sentence follows that on the state of the bucket.
func (v UploadCheckStatus) sentence(at string) string {
	switch left := v.Found - v.Repaired; {
	case left > 0:
		return fmt.Sprintf("; by the verification of %s, %s missing or damaged there, such as %s; `syncd publish --verify --repair` uploads again what this host has", at, english.Plural(left, "object or record is", "objects and records are"), v.First)
	case v.Found > 0:
		return fmt.Sprintf("; verified at %s, %d repaired", at, v.Repaired)
	}
	return "; verified at " + at
}
