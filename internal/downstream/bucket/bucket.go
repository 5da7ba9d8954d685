package bucket

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"syncd/internal/manifest"
)

// form is the version of all texts.
const form = 1

// The names below the prefix that have no parameters.
const (
	CurrentName = "current.json"
	LeaseName   = "lease.json"
)

// The folders below the prefix.
const (
	Objects     = "objects/"
	Records     = "records/"
	Generations = "generations/"
	Patches     = "patches/" // from one content to another, and lists of them
	Packs       = "packs/"   // of small contents
	Trust       = "trust/"   // versions of the trust text
	Rings       = "rings/"   // a current.json for each ring
	Probes      = "probes/"  // texts by which a publisher tries what the server can do
)

// MaxText is the largest text in bytes, except for records.
const MaxText = 4 << 20

const suffix = ".json"

// RingCurrentName is the name of the current.json of a ring, and CurrentName for "".
func RingCurrentName(ring string) string {
	if ring == "" {
		return CurrentName
	}
	return Rings + ring + "/" + CurrentName
}

// ParseRingCurrentName reads what RingCurrentName writes for a ring.
func ParseRingCurrentName(name string) (ring string, ok bool) {
	ring = path.Base(path.Dir(name))
	return ring, manifest.CheckSegment(ring) == nil && name == Rings+ring+"/"+CurrentName
}

// ObjectName is the name of an object's content.
func ObjectName(id manifest.ObjectID) string {
	text := id.String()
	return Objects + text[:2] + "/" + text
}

// ParseObjectName reads what ObjectName writes.
func ParseObjectName(name string) (manifest.ObjectID, bool) {
	id, err := manifest.ParseObjectID(path.Base(name))
	return id, err == nil && ObjectName(id) == name
}

// RecordName is the name of the record of a manifest's revision.
func RecordName(name string, release manifest.Release, revision string) string {
	return Records + name + "/" + string(release) + "-" + revision + suffix
}

// IsRecordName is true for a name that RecordName may have made.
func IsRecordName(name string) bool {
	folder, file := path.Split(strings.TrimPrefix(name, Records))
	return strings.HasPrefix(name, Records) && strings.HasSuffix(file, suffix) && strings.Count(folder, "/") == 1 && len(folder) > 1
}

// ProbeName is the name of a probe.
func ProbeName(word string) string { return Probes + word }

// IsProbeName is true for a name that ProbeName made.
func IsProbeName(name string) bool {
	word, found := strings.CutPrefix(name, Probes)
	return found && word != "" && !strings.Contains(word, "/")
}

// TrustName is the name of a version of the trust text.
func TrustName(version int) string { return Trust + strconv.Itoa(version) }

// ParseTrustName reads what TrustName writes.
func ParseTrustName(name string) (int, bool) {
	version, err := strconv.Atoi(path.Base(name))
	return version, err == nil && version > 0 && TrustName(version) == name
}

// GenerationName is the name of a generation.
func GenerationName(number int) string { return Generations + strconv.Itoa(number) + suffix }

// ParseGenerationName reads what GenerationName writes.
func ParseGenerationName(name string) (int, bool) {
	number, err := strconv.Atoi(strings.TrimSuffix(path.Base(name), suffix))
	return number, err == nil && number > 0 && GenerationName(number) == name
}

// CheckPrefix requires a prefix that keeps all names of the mirror below it.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	folders, ends := strings.CutSuffix(prefix, "/")
	if !ends {
		return fmt.Errorf("prefix %.80q must end in a slash", prefix)
	}
	for segment := range strings.SplitSeq(folders, "/") {
		if err := manifest.CheckSegment(segment); err != nil {
			return fmt.Errorf("prefix %.80q: %w", prefix, err)
		}
	}
	return nil
}

// decode reads one JSON text of at most MaxText bytes into value.
func decode(what string, data []byte, value any) error {
	if len(data) > MaxText {
		return fmt.Errorf("%s: %d bytes, at most %d are allowed", what, len(data), MaxText)
	}
	if !utf8.Valid(data) {
		return fmt.Errorf("%s: not valid UTF-8", what)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	err := decoder.Decode(value)
	if err == nil {
		err = end(decoder)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// end requires that nothing follows.
func end(decoder *json.Decoder) error {
	if _, err := decoder.Token(); err != io.EOF {
		return errors.Join(errors.New("data after the end"), err)
	}
	return nil
}

// encode writes a text that people can read, too.
func encode(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(value); err != nil {
		panic(err) // only for types that JSON cannot write
	}
	return text.Bytes()
}

func checkForm(got int) error {
	if got != form {
		return fmt.Errorf("its form is %d, and this version of syncd reads %d: use a matching version", got, form)
	}
	return nil
}

// maxLine bounds names of hosts and versions, which reach logs and pages.
const maxLine = 255

// checkLine requires one printable line.
func checkLine(what, text string) error {
	if len(text) > maxLine || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return fmt.Errorf("%s %.40q is not one short line of text", what, text)
	}
	return nil
}
