package report

import (
	"slices"
	"strings"
	"time"
)

// The results of publishing to object storage, as JSON and metrics name them.
const (
	Uploaded        Result = "published"
	UploadUnchanged Result = "unchanged"
	Standby         Result = "standby" // another publisher holds the lease
	UploadPending   Result = "pending" // a newer call publishes what is served, once the bucket is free
	UploadFailed    Result = "failed"
	UploadVerified  Result = "verified" // a verification has left nothing missing or damaged
	UploadDamaged   Result = "damaged"  // it has left something
)

// Upload is the outcome of publishing to object storage.
type Upload struct {
	Result     Result      `json:"result"`
	Generation int         `json:"generation"`          // in the bucket
	Objects    int         `json:"objects"`             // uploaded
	Bytes      int64       `json:"bytes"`               // of these
	Kept       []string    `json:"kept,omitempty"`      // manifests that another publisher has newer
	Collected  *Collection `json:"collected,omitempty"` // deleted garbage; nil if it was not looked for
	Error      string      `json:"error"`

	Publisher   string    `json:"publisher,omitempty"` // that wrote the generation
	PublishedAt time.Time `json:"published_at,omitzero"`
	Epoch       int64     `json:"epoch,omitempty"`
	Superseded  bool      `json:"superseded,omitempty"` // it is another publisher's, and not what is served here
	Replaced    string    `json:"replaced,omitempty"`   // the publisher whose generation stood there before; "" for this host

	Verification *UploadCheck `json:"verification,omitempty"` // nil if none was asked for

	Signed *Signed `json:"signed,omitempty"` // nil without signatures

	Target  string   `json:"target,omitempty"`  // the name of the place; "" for the only one
	Targets []Upload `json:"targets,omitempty"` // of several, which the rest sums up

	Began  int64 `json:"-"` // of the generation, see package bucket
	Served int   `json:"-"` // the generation of this host that the bucket shows; 0 if it does not
}

// Signed says whose keys signed a generation.
type Signed struct {
	Origin  string    `json:"origin"`
	By      []string  `json:"by"`      // names of the keys that count
	Missing int       `json:"missing"` // signatures until followers believe it
	Expires time.Time `json:"expires,omitzero"`
	Trust   int       `json:"trust"` // version of the trust text
}

// Collection is what a garbage collection of the bucket deleted.
type Collection struct {
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`   // of these
	Texts   int   `json:"texts"`   // records and generations
	Uploads int   `json:"uploads"` // that were never finished
}

// OK is true when a verification, if one was asked for, has left nothing missing or damaged.
func (u Upload) OK() bool {
	isBad := func(t Upload) bool { return t.Error != "" || !t.OK() }
	return (u.Verification == nil || u.Verification.Left() == 0) && !slices.ContainsFunc(u.Targets, isBad)
}

// Sum is the outcome at several places: what failed or is damaged comes before what went well.
func Sum(targets []Upload) (sum Upload) {
	var errs []string
	for i, t := range targets {
		if t.Error != "" {
			errs = append(errs, t.Target+": "+t.Error)
		}
		if i == 0 || slices.Index(byWeight, t.Result) < slices.Index(byWeight, sum.Result) {
			objects, bytes := sum.Objects, sum.Bytes
			sum = t
			sum.Objects, sum.Bytes = objects, bytes
		}
		sum.Objects, sum.Bytes = sum.Objects+t.Objects, sum.Bytes+t.Bytes
	}
	sum.Target, sum.Targets, sum.Error = "", targets, strings.Join(errs, "; ")
	return sum
}

// byWeight are the results from the one that an operator must see.
var byWeight = []Result{UploadFailed, UploadDamaged, Uploaded, UploadVerified, UploadPending, UploadUnchanged, Standby}

// UploadCheck is what a verification of the bucket found.
type UploadCheck struct {
	Generations int            `json:"generations"` // that followers may still read
	Records     int            `json:"records"`     // of these
	Objects     int            `json:"objects"`     // of these
	Bytes       int64          `json:"bytes"`       // of the objects
	BytesRead   int64          `json:"bytes_read"`  // of objects that were read and hashed
	Unread      int            `json:"unread"`      // objects of which only the size was compared: the server keeps no SHA-256
	Missing     int            `json:"missing"`
	Damaged     int            `json:"damaged"`
	Repaired    int            `json:"repaired"` // of both
	Damage      []UploadDamage `json:"damage"`   // at most 100, what is left first
}

// Left is how many are missing or damaged and were not repaired.
func (c UploadCheck) Left() int { return c.Missing + c.Damaged - c.Repaired }

// UploadDamage is something in the bucket that is missing or damaged.
type UploadDamage struct {
	Name     string `json:"name"`     // below the prefix
	Manifest string `json:"manifest"` // "" for a generation
	Release  string `json:"release"`
	Path     string `json:"path"` // of a file with this content; "" for a text
	Missing  bool   `json:"missing"`
	Error    string `json:"error"`
	Repaired bool   `json:"repaired"`
}

// String names it, and says what is wrong.
func (d UploadDamage) String() string {
	name := d.Name
	if d.Path != "" {
		name = d.Manifest + "/" + d.Path + " (" + d.Name + ")"
	}
	return name + ": " + d.Error
}
