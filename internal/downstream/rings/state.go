package rings

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"syncd/internal/clients/transport"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// The headers by which two syncd recognise each other.
const (
	HeaderState    = transport.HeaderState    // in the polls of a follower; see State
	HeaderUpstream = transport.HeaderUpstream // in each answer of an upstream; its value is Upstream
	Upstream       = transport.Upstream       // the version of HeaderState that it reads
	HeaderDestroy  = transport.HeaderDestroy  // in answers about a manifest: what followers must destroy of it
)

// Limits of a header. It comes from hosts that may be hostile.
const (
	maxHeader   = 1024
	maxValue    = 64
	maxAttempts = 1_000_000
	maxHeld     = 1_000_000
	maxTold     = 18 // revisions that a host names: they fit beside the longest values of all else
	inValue     = 3  // revisions that fit into a value
)

// ReasonFailed is the reason of a release that could not be mirrored and was not refused.
// Everything else is a reason of package refusal.
const ReasonFailed = "failed"

// ReasonStopped is the reason of a host that serves the release, and whose followers refused
// it.
const ReasonStopped = "stopped"

// What a host tells of its consumers.
const (
	ProbePending = "pending"
	ProbeProven  = "proven"
	ProbeFailed  = "failed"
)

// State is what a follower tells of one manifest in a poll. Its text is a list of
// key=value, separated by semicolons:
//
//	host=db01; id=5f3a9c01; version=1.4.0; release=2026.10; revision=0123456789ab; refused=2026.11; refused_revision=ba9876543210; reason=gate; attempts=1; probe=proven; held=2; holds=2026.09-56789abcdef0+2026.10-0123456789ab
//
// host and id are required. Keys that a reader does not know are skipped. Three revisions
// fit into a value, so more of them have the keys holds2, holds3 and so on. A poll that is
// about many manifests has a header line for each, with the key manifest.
type State struct {
	Manifest string           // that the state is about; "" for the one that the poll asks for
	Host     string           // name of the host
	ID       string           // tells followers of one host name apart
	Version  string           // of syncd
	Release  manifest.Release // served; "" for none
	Revision string           // served
	Refused  manifest.Release // the release that could not be taken; "" for none
	Reason   string           // why
	Attempts int              // that failed in a row

	RefusedRevision string // of Refused; "" if its files were never complete

	Probe string // what the consumers say of the served release; "" where nothing asks them

	TellsHeld bool   // earlier versions do not
	Held      int    // revisions on its disk
	Holds     string // their IDs, joined by "+"; perhaps not all of them
}

// Holding returns s with the revisions that are on the disk of its host. Those of the oldest
// releases come first, and are told first: they are to be destroyed next.
func (s State) Holding(ids []string) State {
	ids = slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !heldForm.MatchString(id) })))
	s.TellsHeld, s.Held, s.Holds = true, min(len(ids), maxHeld), strings.Join(ids[:min(len(ids), maxTold)], "+")
	return s
}

// held are the IDs of Holds.
func (s State) held() []string {
	if s.Holds == "" {
		return nil
	}
	return strings.Split(s.Holds, "+")
}

// refusal is a State with nothing but what it refuses. Another one means that the host tried
// again.
func (s State) refusal() State {
	return State{Refused: s.Refused, RefusedRevision: s.RefusedRevision, Reason: s.Reason, Attempts: s.Attempts}
}

// idForm is that of the ids that `syncd serve-id add` makes: 160 random bits in base32.
var idForm = regexp.MustCompile(`^[a-z2-7]{32}$`)

// IsID is true for the id of a follower, and false for the Customer ID of a provider.
func IsID(text string) bool { return idForm.MatchString(text) }

// NewState returns the State of a follower, by the name of its host and its data directory.
func NewState(host, dataDir, version string) State {
	sum := sha256.Sum256([]byte(host + "\x00" + dataDir))
	return State{Host: plain(host), ID: fmt.Sprintf("%x", sum[:4]), Version: plain(version)}
}

var (
	unplain = regexp.MustCompile(`[^A-Za-z0-9._:+-]+`)
	value   = regexp.MustCompile(`^[A-Za-z0-9._:+-]+$`)
	// heldForm is the ID of a revision: release and revision.
	heldForm = regexp.MustCompile(`^[0-9]{4}\.[0-9A-Z]{2}-[0-9a-f]{12}$`)
)

// plain makes a value that a header can hold.
func plain(text string) string {
	text = unplain.ReplaceAllString(text, "-")
	if text == "" {
		return "unknown"
	}
	return text[:min(len(text), maxValue)]
}

// Header is the text of the header.
func (s State) Header() string {
	var b strings.Builder
	add := func(key, value string) {
		if value == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(key + "=" + value)
	}
	add(keyManifest, escaped(s.Manifest))
	add("host", s.Host)
	add("id", s.ID)
	add("version", s.Version)
	add("release", string(s.Release))
	add("revision", s.Revision)
	add("refused", string(s.Refused))
	add("refused_revision", s.RefusedRevision)
	add("reason", s.Reason)
	if s.Attempts > 0 {
		add("attempts", strconv.Itoa(min(s.Attempts, maxAttempts)))
	}
	add("probe", s.Probe)
	if s.TellsHeld {
		add("held", strconv.Itoa(s.Held))
		n := 0
		for ids := range slices.Chunk(s.held(), inValue) {
			n++
			add(holdsKey(n), strings.Join(ids, "+"))
		}
	}
	return b.String()
}

// holdsKey is the key of the nth value with held revisions.
func holdsKey(n int) string {
	if n == 1 {
		return "holds"
	}
	return "holds" + strconv.Itoa(n)
}

// keyManifest is the key of State.Manifest.
const keyManifest = "manifest"

var errHeader = errors.New("unusable " + HeaderState + " header")

// ParseState reads a header. It trusts nothing in it.
func ParseState(header string) (State, error) {
	var s State
	if len(header) > maxHeader+maxManifest {
		return s, errHeader
	}
	values := map[string]string{}
	for pair := range strings.SplitSeq(header, ";") {
		key, text, found := strings.Cut(strings.TrimSpace(pair), "=")
		_, repeated := values[key]
		most := maxValue
		if key == keyManifest {
			most = maxManifest
		}
		if !found || repeated || len(text) > most || !value.MatchString(text) {
			return s, errHeader
		}
		values[key] = text
	}
	of := func(key string) string { return strings.Clone(values[key]) } // the header is not kept
	s = State{Host: of("host"), ID: of("id"), Version: of("version"), Revision: of("revision"), RefusedRevision: of("refused_revision"), Reason: of("reason"), Probe: of("probe")}
	var err error
	if s.Manifest, err = unescaped(of(keyManifest)); err == nil {
		s.Release, err = parseRelease(of("release"))
	}
	if err == nil {
		s.Refused, err = parseRelease(of("refused"))
	}
	if err == nil && values["attempts"] != "" {
		s.Attempts, err = strconv.Atoi(values["attempts"])
	}
	if err == nil {
		err = s.parseHeld(of)
	}
	if err != nil || s.Host == "" || s.ID == "" || s.Attempts < 0 || s.Attempts > maxAttempts {
		return State{}, errHeader
	}
	return s, nil
}

// parseHeld reads the revisions that a host holds.
func (s *State) parseHeld(of func(key string) string) (err error) {
	count := of("held")
	if count == "" {
		return nil
	}
	s.TellsHeld = true
	if s.Held, err = strconv.Atoi(count); err != nil || s.Held < 0 || s.Held > maxHeld {
		return errHeader
	}
	var ids []string
	for n := 1; len(ids) < maxTold && of(holdsKey(n)) != ""; n++ {
		ids = append(ids, strings.Split(of(holdsKey(n)), "+")...)
	}
	ids = ids[:min(len(ids), maxTold, s.Held)]
	if slices.ContainsFunc(ids, func(id string) bool { return !heldForm.MatchString(id) }) {
		return errHeader
	}
	s.Holds = strings.Join(ids, "+")
	return nil
}

// parseRelease reads a release that can be served.
func parseRelease(text string) (manifest.Release, error) {
	if text == "" {
		return "", nil
	}
	release, err := manifest.ParseRelease(text)
	if err == nil && release == manifest.Latest {
		err = errHeader
	}
	return release, err
}

// counts is true for a State that speaks against its release. One failure alone can be
// that of a network or of this host. A host that took a release which was rolled back here
// refuses to go back to a good one.
func (s State) counts() bool {
	switch s.Reason {
	case ReasonFailed:
		return s.Refused != "" && s.Attempts > 1
	case string(refusal.Downgrade):
		return false
	}
	return s.Refused != ""
}
