package manifest

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Metadata is what the provider says about a file besides what its reference, its size
// and its SHA-256 tell. Values are shared: read only.
type Metadata struct {
	MD5     Digest   `json:"md5,omitzero"`
	SHA1    Digest   `json:"sha1,omitzero"`
	Members []Member `json:"members,omitempty"` // such as BuildDate, in the order of the wire
}

// Member is a member of the provider's Metadata. All values are text on the wire.
type Member struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// MaxMembers limits the text of a file's members, in bytes. Real ones have under 50.
const MaxMembers = 512

// wireOrder are the known members that follow the digests.
var wireOrder = []string{"BuildDate", "BuildNumber", "OS", "Compiler", "Language", "Architecture"}

// IsWireMember is true for a name that the wire facts know.
func IsWireMember(name string) bool { return slices.Contains(wireOrder, name) }

// SortMembers puts members in the order of the wire, unknown ones by name at the end. It
// leaves out those that could not be sent on as JSON and XML, and all of them if there is
// too much text.
func SortMembers(members []Member) []Member {
	text := 0
	members = slices.DeleteFunc(members, func(m Member) bool {
		text += len(m.Name) + len(m.Value)
		return !isPlainName(m.Name) || !utf8.ValidString(m.Value) || strings.ContainsFunc(m.Value, unicode.IsControl)
	})
	if text > MaxMembers {
		return nil
	}
	rank := func(m Member) int {
		if i := slices.Index(wireOrder, m.Name); i >= 0 {
			return i
		}
		return len(wireOrder)
	}
	slices.SortStableFunc(members, func(a, b Member) int {
		if x, y := rank(a), rank(b); x != y {
			return x - y
		}
		return strings.Compare(a.Name, b.Name)
	})
	return members
}

// isPlainName is true for a name that an XML element may have.
func isPlainName(name string) bool {
	return name != "" && isLetter(rune(name[0])) && !strings.ContainsFunc(name, func(c rune) bool {
		return !isLetter(c) && (c < '0' || c > '9')
	})
}

func isLetter(c rune) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

// Valid is true for metadata that a record may hold, which can come from a damaged disk.
func (m *Metadata) Valid() bool {
	isOf := func(d Digest, a Algorithm) bool { return d.IsZero() || d.Algorithm == a }
	return isOf(m.MD5, MD5) && isOf(m.SHA1, SHA1) && slices.Equal(SortMembers(slices.Clone(m.Members)), m.Members)
}
