package bucket

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"syncd/internal/manifest"
)

// Current is current.json: it names the generation that followers mirror. It is written
// last, and only in the place of the one that its writer has read.
type Current struct {
	Form        int               `json:"syncd_bucket"`
	Generation  int               `json:"generation"`
	SHA256      manifest.ObjectID `json:"sha256"`          // of the generation's text
	Fence       int64             `json:"fence"`           // of the writer's lease; 0 without election
	Epoch       int64             `json:"epoch,omitempty"` // of the generation
	Began       int64             `json:"began,omitempty"` // of the generation
	Count       string            `json:"count,omitempty"` // of the generation; not signed
	Publisher   string            `json:"publisher"`       // the host that wrote this text
	PublishedAt time.Time         `json:"published_at"`

	Statement string    `json:"statement,omitempty"` // about the generation, with its signatures; see package trust
	Trust     TrustText `json:"trust,omitzero"`      // the newest version of the trust text; zero for none

	// Next collects signatures until it takes the place of what followers see. It may be about
	// the same generation. Followers do not look at it.
	Next Next `json:"next,omitzero"`
}

// Next is a generation, and a statement about it that not enough keys have signed yet.
type Next struct {
	Generation int               `json:"generation"`
	SHA256     manifest.ObjectID `json:"sha256"`
	Statement  string            `json:"statement"`
}

// TrustText names a version of a trust text.
type TrustText struct {
	Version int               `json:"version"`
	SHA256  manifest.ObjectID `json:"sha256"`
}

// Text is the text of current.json.
func (c Current) Text() []byte {
	c.Form = form
	return encode(c)
}

// ParseCurrent reads current.json.
func ParseCurrent(data []byte) (Current, error) {
	var c Current
	err := decode(CurrentName, data, &c)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return Current{}, err
	}
	return c, nil
}

// maxGeneration is more than a publisher can write, and leaves room for those after it: a
// harmful number must not end the counting.
const maxGeneration = 1 << 30

// MaxEpoch is the largest epoch that every reader of JSON keeps exact. It leaves room for
// those after it.
const MaxEpoch = 1 << 52

// maxStatement is that of package trust.
const maxStatement = 16 << 10

func checkEpoch(epoch int64) error {
	if epoch < 0 || epoch > MaxEpoch {
		return fmt.Errorf("epoch %d", epoch)
	}
	return nil
}

// maxBegan is in the year 36812.
const maxBegan = 1 << 40

func checkBegan(began int64) error {
	if began < 0 || began > maxBegan {
		return fmt.Errorf("it began at %d", began)
	}
	return nil
}

// checkTime refuses a time whose year has no form in JSON once it is told in UTC.
func checkTime(what string, at time.Time) error {
	if year := at.UTC().Year(); year < 0 || year > 9999 {
		return fmt.Errorf("%s is in the year %d", what, year)
	}
	return nil
}

func (c Current) check() error {
	err := checkForm(c.Form)
	switch {
	case err != nil:
	case c.Generation < 1 || c.Generation > maxGeneration:
		err = fmt.Errorf("generation %d", c.Generation)
	case c.SHA256.IsZero():
		err = errors.New("no sha256 of its generation")
	case c.Fence < 0:
		err = fmt.Errorf("fence %d", c.Fence)
	case len(c.Statement) > maxStatement:
		err = fmt.Errorf("a statement of %d bytes, at most %d are allowed", len(c.Statement), maxStatement)
	case c.Next != (Next{}) && (c.Next.Generation < 1 || c.Next.Generation > maxGeneration || c.Next.SHA256.IsZero() || len(c.Next.Statement) > maxStatement):
		err = fmt.Errorf("a next generation %d with a statement of %d bytes", c.Next.Generation, len(c.Next.Statement))
	case c.Trust != (TrustText{}) && (c.Trust.Version < 1 || c.Trust.SHA256.IsZero()):
		err = fmt.Errorf("version %d of a trust text", c.Trust.Version)
	default:
		err = cmp.Or(checkEpoch(c.Epoch), checkBegan(c.Began), checkLine("publisher", c.Publisher), checkTime("published_at", c.PublishedAt))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", CurrentName, err)
	}
	return nil
}

// Lease is lease.json: it names the publisher that may write. Another one may take it once
// the text has not changed for Seconds by that one's own clock.
type Lease struct {
	Form    int    `json:"syncd_bucket"`
	Holder  string `json:"holder"`  // publisher; "" after it gave the lease back
	Fence   int64  `json:"fence"`   // grows by one with each holder
	Renewal int64  `json:"renewal"` // grows by one with each renewal, so that the text changes
	Seconds int    `json:"seconds"`
}

// Text is the text of lease.json.
func (l Lease) Text() []byte {
	l.Form = form
	return encode(l)
}

// maxLease is a day: a longer one would keep a bucket without a publisher for too long.
const maxLease = 86400

// ParseLease reads lease.json.
func ParseLease(data []byte) (Lease, error) {
	var l Lease
	err := decode(LeaseName, data, &l)
	if err == nil {
		err = l.check()
	}
	if err != nil {
		return Lease{}, err
	}
	return l, nil
}

func (l Lease) check() error {
	err := checkForm(l.Form)
	switch {
	case err != nil:
	case l.Fence < 1 || l.Renewal < 0:
		err = fmt.Errorf("fence %d, renewal %d", l.Fence, l.Renewal)
	case l.Seconds < 1 || l.Seconds > maxLease:
		err = fmt.Errorf("a lease of %d seconds, expected 1 to %d", l.Seconds, maxLease)
	default:
		err = checkLine("holder", l.Holder)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", LeaseName, err)
	}
	return nil
}
