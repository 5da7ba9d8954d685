package serve

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"syncd/internal/disk/fsops"
)

// Identity is what is known of a follower's id. The id itself is kept nowhere.
type Identity struct {
	Name string
	Ring string // "" for none

	sum [sha256.Size]byte // of the id
}

// IDs are the ids of a file. Safe for concurrent use.
type IDs struct {
	path  string
	known atomic.Pointer[map[prefix]Identity]
	rings atomic.Pointer[map[string]string] // by name
}

// prefix is the first half of the sum of an id. A look-up by it takes a time that depends
// on a sum, which tells nothing of the id.
type prefix [sha256.Size / 2]byte

// OpenIDs reads a file of ids.
func OpenIDs(path string) (*IDs, error) {
	ids := &IDs{path: path}
	return ids, ids.Reload()
}

// Reload reads the file again. After an error the old ids stay in force.
func (i *IDs) Reload() error {
	if i == nil {
		return nil
	}
	all, err := ReadIDs(i.path)
	if err != nil {
		return err
	}
	known, rings := make(map[prefix]Identity, len(all)), make(map[string]string, len(all))
	for _, id := range all {
		known[prefix(id.sum[:])], rings[id.Name] = id, id.Ring
	}
	i.known.Store(&known)
	i.rings.Store(&rings)
	return nil
}

// find looks up an id in constant time.
func (i *IDs) find(id string) (Identity, bool) {
	sum := sha256.Sum256([]byte(id))
	known := (*i.known.Load())[prefix(sum[:])] // the zero value has the sum of no id
	return known, subtle.ConstantTimeCompare(known.sum[:], sum[:]) == 1
}

// Rings returns the ring of each id by its name; nil without a file.
func (i *IDs) Rings() map[string]string {
	if i == nil {
		return nil
	}
	return *i.rings.Load()
}

// maxIDs limits a file of ids in bytes.
const maxIDs = 16 << 20

// ReadIDs reads a file of ids. No error quotes the file: someone may have written an id
// into it.
func ReadIDs(path string) ([]Identity, error) {
	text, _, err := fsops.ReadRegular(path, maxIDs)
	if err != nil {
		return nil, fmt.Errorf("serve.ids_file: %w: `syncd serve-id add` makes it, and the owner of data_dir must be able to read it", err)
	}
	all, err := parseIDs(text)
	if err != nil {
		return nil, fmt.Errorf("serve.ids_file %s: %w", path, err)
	}
	return all, nil
}

// parseIDs reads lines with the SHA-256 of an id in hex, a name, and perhaps a ring. Empty
// lines and those that begin with # say nothing.
func parseIDs(text []byte) (all []Identity, err error) {
	names := map[string]bool{}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		words := strings.Fields(string(line))
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		id, ok := parseIdentity(words)
		if !ok {
			return nil, fmt.Errorf("line %d is not a SHA-256 in hex, a name and perhaps a ring: correct or remove it", number)
		}
		if names[id.Name] {
			return nil, fmt.Errorf("line %d has the name of an earlier line: give each id a name of its own", number)
		}
		names[id.Name] = true
		all = append(all, id)
	}
	return all, nil
}

// nameForm is the form of names and rings.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

func parseIdentity(words []string) (id Identity, ok bool) {
	if len(words) < 2 || len(words) > 3 || len(words[0]) != hex.EncodedLen(len(id.sum)) {
		return id, false
	}
	if _, err := hex.Decode(id.sum[:], []byte(words[0])); err != nil {
		return id, false
	}
	for _, name := range words[1:] {
		if !nameForm.MatchString(name) {
			return id, false
		}
	}
	id.Name = words[1]
	if len(words) == 3 {
		id.Ring = words[2]
	}
	return id, true
}

// line is an identity as the file has it.
func (id Identity) line() string {
	return strings.TrimSpace(hex.EncodeToString(id.sum[:])+" "+id.Name+" "+id.Ring) + "\n"
}
