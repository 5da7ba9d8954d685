package bucket

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"syncd/internal/manifest"
	"syncd/internal/manifest/destruction"
	"syncd/internal/mirror/record"
)

// Generation names one revision of each manifest in the bucket. It is never changed.
//
// Within an epoch, numbers grow. A publisher whose operator takes the bucket back begins the
// next epoch: followers accept it although its data may be older, and refuse those before
// from then on. Generations of earlier versions have epoch 0. Epochs and numbers are those of
// a bucket that was begun at one time: a publisher that begins an empty one, and remembers
// nothing of it, counts from 1 again. Followers of the bucket before accept that, but no older
// release for it.
type Generation struct {
	Form        int        `json:"syncd_bucket"`
	Number      int        `json:"generation"`
	Previous    int        `json:"previous"` // that current.json named before; 0 for none
	Fence       int64      `json:"fence"`
	Epoch       int64      `json:"epoch,omitempty"`
	Began       int64      `json:"began,omitempty"`     // when the bucket was empty, in Unix seconds; 0 if that is not known
	Ring        string     `json:"ring,omitempty"`      // of serve, whose followers see it; "" for all
	LastRing    bool       `json:"last_ring,omitempty"` // Ring is the last one, so that all others may see it, too
	Count       string     `json:"count,omitempty"`     // CountBucket or CountHost; "" of earlier publishers
	Publisher   string     `json:"publisher"`
	PublishedAt time.Time  `json:"published_at"`
	Version     string     `json:"version"`   // of syncd
	Manifests   []Manifest `json:"manifests"` // sorted by name

	// Destruction is what followers must destroy, by manifest. Earlier versions say and read
	// nothing of it.
	Destruction Orders `json:"destruction,omitempty"`
}

// The counts of a publisher: what it writes into a bucket, and what it serves and exports.
const (
	CountBucket = "bucket"
	CountHost   = "host"
)

// Orders are what followers must destroy, by manifest.
type Orders map[string]destruction.Order

// maxOrder is longer than the text of any order.
const maxOrder = 64 << 10

// UnmarshalJSON checks each order at once: two bytes of a text can take a hundred of memory.
func (o *Orders) UnmarshalJSON(text []byte) error {
	var texts map[string]json.RawMessage
	if err := json.Unmarshal(text, &texts); err != nil {
		return err
	}
	*o = make(Orders, len(texts))
	for name, text := range texts {
		var order destruction.Order
		err := manifest.CheckSegment(name)
		switch {
		case err != nil:
		case len(text) > maxOrder:
			err = fmt.Errorf("%d bytes, at most %d are allowed", len(text), maxOrder)
		default:
			err = json.Unmarshal(text, &order)
		}
		if err = cmp.Or(err, checkLine("publisher", order.Publisher), order.Check()); err != nil {
			return fmt.Errorf("destruction of manifest %.80q: %w", name, err)
		}
		(*o)[name] = order
	}
	return nil
}

// Manifest is one manifest of a Generation.
type Manifest struct {
	Name     string           `json:"name"`
	Release  manifest.Release `json:"release"`
	Revision string           `json:"revision"`
	Files    int              `json:"files"`
	Bytes    int64            `json:"bytes"`
	Held     bool             `json:"held,omitempty"` // the publisher's operator wants it, although there may be a newer one

	Publisher string `json:"publisher,omitempty"` // that had something newer than the generation's; "" for that one

	RecordSHA256 manifest.ObjectID `json:"record_sha256,omitzero"` // of the record's text; zero from publishers before 0.2.0

	Packs int `json:"packs,omitempty"` // of PacksOf its record, all of which can be had; 0 for none

	Described bool `json:"described,omitempty"` // the record has all that the provider's Metadata says

	// What the provider's lists say of it, for those who ask a follower. Earlier versions say
	// and read nothing of it.
	Aliases     string `json:"aliases,omitempty"` // of the release, with the same files; separated by a blank
	Description string `json:"description,omitempty"`

	MirroredAt time.Time `json:"mirrored_at"` // when its publisher had it whole
}

// UnmarshalJSON checks it at once: two bytes of a text can take a hundred of memory.
func (m *Manifest) UnmarshalJSON(text []byte) error {
	type bare Manifest
	if err := json.Unmarshal(text, (*bare)(m)); err != nil {
		return err
	}
	if err := m.check(); err != nil {
		return fmt.Errorf("manifest %.80q: %w", m.Name, err)
	}
	return nil
}

// Record is the name of its record.
func (m Manifest) Record() string { return RecordName(m.Name, m.Release, m.Revision) }

// Text is the text of a generation.
func (g Generation) Text() []byte {
	g.Form = form
	if g.Manifests == nil {
		g.Manifests = []Manifest{}
	}
	return encode(g)
}

// ParseGeneration reads the generation with a number.
func ParseGeneration(number int, data []byte) (Generation, error) {
	var g Generation
	what := GenerationName(number)
	err := decode(what, data, &g)
	if err != nil {
		return Generation{}, err
	}
	if err = g.check(number); err != nil {
		return Generation{}, fmt.Errorf("%s: %w", what, err)
	}
	return g, nil
}

func (g Generation) check(number int) error {
	if err := checkForm(g.Form); err != nil {
		return err
	}
	if g.Number != number || g.Previous < 0 || g.Previous >= g.Number || g.Fence < 0 {
		return fmt.Errorf("generation %d after %d with fence %d", g.Number, g.Previous, g.Fence)
	}
	if g.Count != "" && g.Count != CountBucket && g.Count != CountHost {
		return fmt.Errorf("unknown count %.40q", g.Count)
	}
	if err := cmp.Or(checkEpoch(g.Epoch), checkBegan(g.Began), checkLine("publisher", g.Publisher), checkLine("version", g.Version), checkLine("ring", g.Ring), checkTime("published_at", g.PublishedAt)); err != nil {
		return err
	}
	last := ""
	for _, m := range g.Manifests {
		if m.Name <= last {
			return fmt.Errorf("manifest %.80q is named twice or is not in order", m.Name)
		}
		last = m.Name
	}
	return nil
}

// IsFor is true for what a ring may see: its own, and that of the last ring, which also a ring
// without a name sees, or one that left the configuration.
func (g Generation) IsFor(ring string) bool {
	return g.Ring == "" || g.Ring == ring || g.LastRing
}

// IsDestroyed is true for a manifest of an earlier generation whose revision a publisher
// destroyed since. What g itself names is not.
func (g Generation) IsDestroyed(earlier Manifest) bool {
	named, found := g.Manifest(earlier.Name)
	if found && named.Record() == earlier.Record() {
		return false
	}
	return g.Destruction[earlier.Name].Names(earlier.Release, earlier.Revision)
}

// revisionForm is the form of manifest.RevisionID.
var revisionForm = regexp.MustCompile(`^[0-9a-f]{12}$`)

func (m Manifest) check() error {
	if m.Files < 1 || m.Files > record.MaxFiles || m.Bytes < 0 || m.Packs < 0 || m.Packs > m.Files {
		return fmt.Errorf("%d files of %d bytes in %d packs", m.Files, m.Bytes, m.Packs)
	}
	for alias := range strings.FieldsSeq(m.Aliases) {
		if release, err := manifest.ParseRelease(alias); err != nil || string(release) != alias || release.IsMonth() || release == manifest.Latest || len(m.Aliases) > maxLine {
			return fmt.Errorf("alias %.40q", alias)
		}
	}
	return cmp.Or(checkLine("publisher", m.Publisher), checkLine("description", m.Description), checkTime("mirrored_at", m.MirroredAt), checkNames(m.Name, m.Release, m.Revision))
}

// checkNames requires the parts of a record's name to be safe in paths.
func checkNames(name string, release manifest.Release, revision string) error {
	if err := manifest.CheckSegment(name); err != nil {
		return err
	}
	parsed, err := manifest.ParseRelease(string(release))
	if err != nil {
		return err
	}
	if parsed != release {
		return fmt.Errorf("release %q is not in its usual form", release)
	}
	if !revisionForm.MatchString(revision) {
		return fmt.Errorf("revision %.40q is not 12 hex digits", revision)
	}
	return nil
}

// Names are the releases of Aliases.
func (m Manifest) Names() (aliases []manifest.Release) {
	for alias := range strings.FieldsSeq(m.Aliases) {
		aliases = append(aliases, manifest.Release(alias))
	}
	return aliases
}

// Manifest returns the manifest with a name.
func (g Generation) Manifest(name string) (Manifest, bool) {
	for _, m := range g.Manifests {
		if m.Name == name {
			return m, true
		}
	}
	return Manifest{}, false
}
