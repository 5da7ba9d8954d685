package rings

import (
	"encoding/hex"
	"slices"
	"strings"

	"syncd/internal/manifest"
)

// Limits of a poll that tells of many manifests: a header line for each. This server takes
// headers of 16 KiB, others fewer than 100 lines.
const (
	MaxStates    = 64       // lines that a follower sends; a later poll tells the others
	MaxStateText = 12 << 10 // bytes of them, with the name of the header

	maxStates = 256 // lines that are read
)

// maxManifest is the longest name of a manifest in a header.
const maxManifest = 3 * 255

// escaped is a name as a header can hold it: each byte that a value may not have is a colon and
// two hex digits.
func escaped(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; c == ':' || !value.MatchString(name[i:i+1]) {
			b.WriteString(":" + hex.EncodeToString([]byte{c}))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescaped reads the name of a manifest.
func unescaped(text string) (string, error) {
	plain, rest, found := strings.Cut(text, ":")
	for found {
		if len(rest) < 2 {
			return "", errHeader
		}
		c, err := hex.DecodeString(rest[:2])
		if err != nil {
			return "", errHeader
		}
		var next string
		next, rest, found = strings.Cut(rest[2:], ":")
		plain += string(c) + next
	}
	if plain != "" && manifest.CheckSegment(plain) != nil {
		return "", errHeader
	}
	return plain, nil
}

// statesOf reads the lines of a poll. One line may be about whatever the poll asks for; of
// several, each names its manifest. All must be of one host. Lines that cannot be used count
// as none.
func statesOf(lines []string) (states []State) {
	for _, line := range lines[:min(len(lines), maxStates)] {
		s, err := ParseState(line)
		isOf := func(other State) bool { return other.Manifest == s.Manifest }
		switch {
		case err != nil, len(lines) > 1 && s.Manifest == "", slices.ContainsFunc(states, isOf):
		case len(states) > 0 && (s.Host != states[0].Host || s.ID != states[0].ID):
		default:
			states = append(states, s)
		}
	}
	return states
}

// Told names the manifests that the asker's states are about; none if they name none.
func (a Asker) Told() (names []string) {
	for _, s := range a.states {
		if s.Manifest != "" {
			names = append(names, s.Manifest)
		}
	}
	return names
}

// Ring is the configured ring that counts for the asker; "" without rings.
func (a Asker) Ring() string { return a.counted }

// InRing is a client of which nothing is known but its ring.
func InRing(ring string) Asker { return Asker{ring: ring, counted: ring} }

// stateOf is what the asker tells of a manifest.
func (a Asker) stateOf(name string) State {
	for _, s := range a.states {
		if strings.EqualFold(s.Manifest, name) {
			s.Manifest = ""
			return s
		}
	}
	if len(a.states) > 0 && a.state.Manifest != "" {
		return State{Host: a.state.Host, ID: a.state.ID, Version: a.state.Version}
	}
	return a.state
}
