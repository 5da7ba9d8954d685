package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"syncd/internal/manifest"
)

// form is the version of the form.
const form = 1

// headName is the first member of each volume.
const headName = "bundle.json"

// The sizes of a volume's parts in bytes.
const (
	block    = 512
	headText = block              // of the head, filled with spaces, so that the layout is known before
	headSize = block + headText   // with its header
	trailer  = 2 * block          // at the end of a tar
	overhead = headSize + trailer // of a volume without members
)

// MinVolume is the smallest limit of a volume: its head, and a member with a long name.
const MinVolume = 8 << 10

// Bounds of a bundle, so that a hostile one fills no memory.
const (
	MaxContents = 1 << 20
	maxVolumes  = 1 << 16
	maxTrusts   = 1 << 15 // more than a trust file can have
	maxMember   = 1 << 50 // bytes
)

// head says which volume of which bundle a file is.
type head struct {
	Form    int               `json:"syncd_bundle"`
	ID      manifest.ObjectID `json:"id"` // of the bundle, see identity
	Volume  int               `json:"volume"`
	Volumes int               `json:"volumes"`
	Bytes   int64             `json:"bytes"` // of this volume
	Limit   int64             `json:"limit"` // of each volume; 0 for one volume of any size
	Number  int               `json:"generation"`
	Since   manifest.ObjectID `json:"since,omitzero"` // of the receipt whose contents are left out
}

// text is the text of a head, filled to its size.
func (h head) text() []byte {
	h.Form = form
	text, err := json.Marshal(h)
	if err != nil {
		panic(err) // its types have a form
	}
	filled := bytes.Repeat([]byte{' '}, headText)
	copy(filled, text)
	filled[headText-1] = '\n'
	return filled
}

// bytes is how a volume begins.
func (h head) bytes() []byte { return append(header(headName, headText), h.text()...) }

// errNoBundle says that a file is something else.
var errNoBundle = errors.New("not a bundle of syncd")

// parseHead reads how a volume begins. Only the bytes that a head is written with are one.
func parseHead(data []byte) (head, error) {
	if len(data) < headSize || !bytes.Equal(data[:block], header(headName, headText)) {
		return head{}, errNoBundle
	}
	var h head
	if err := json.Unmarshal(data[block:headSize], &h); err != nil {
		return head{}, fmt.Errorf("%s: %w", headName, err)
	}
	switch {
	case h.Form != form:
		return head{}, fmt.Errorf("%s: its form is %d, and this version of syncd reads %d: use a matching version", headName, h.Form, form)
	case h.Volumes < 1 || h.Volumes > maxVolumes || h.Volume < 1 || h.Volume > h.Volumes:
		return head{}, fmt.Errorf("%s: volume %d of %d", headName, h.Volume, h.Volumes)
	case h.Bytes < overhead || h.Limit != 0 && (h.Limit < MinVolume || h.Bytes > h.Limit) || h.Limit == 0 && h.Volumes > 1:
		return head{}, fmt.Errorf("%s: %d bytes in a volume of at most %d", headName, h.Bytes, h.Limit)
	case !bytes.Equal(data[block:headSize], h.text()):
		return head{}, fmt.Errorf("%s: it is damaged", headName)
	}
	return h, nil
}

// header is the header of a member: the only one that a bundle has for its name and size.
func header(name string, size int64) []byte {
	var b bytes.Buffer
	if err := tar.NewWriter(&b).WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644, Typeflag: tar.TypeReg}); err != nil {
		panic(err) // for a negative size
	}
	return b.Bytes()
}

// padding is what follows a member to the end of its last block.
func padding(size int64) int64 { return -size & (block - 1) }

// identity computes the ID of a bundle: a digest of its layout and of current.json, which
// leads to all digests. Volumes of other exports have another one.
type identity struct{ hash.Hash }

func newIdentity(limit int64, since manifest.ObjectID) identity {
	id := identity{sha256.New()}
	fmt.Fprintf(id, "syncd-bundle/v%d\n%d\n%s\n", form, limit, since)
	return id
}

// member adds a member in its order.
func (id identity) member(name string, size int64) { fmt.Fprintf(id, "%s\n%d\n", name, size) }

// of is the ID of the bundle with a current.json.
func (id identity) of(current manifest.ObjectID) manifest.ObjectID {
	fmt.Fprintf(id, "%s\n", current)
	return manifest.ObjectID(id.Sum(nil))
}

// partName is the name of a part of a member that is cut, from 1 on.
func partName(name string, part int) string { return fmt.Sprintf("%s.%03d", name, part) }

// cutPart splits what partName writes.
func cutPart(name string) (whole string, part int, ok bool) {
	at := strings.LastIndexByte(name, '.')
	if at < 0 {
		return "", 0, false
	}
	if _, err := fmt.Sscanf(name[at+1:], "%d", &part); err != nil || part < 1 || partName(name[:at], part) != name {
		return "", 0, false
	}
	return name[:at], part, true
}

// VolumeName is the name of a volume of a bundle that is cut.
func VolumeName(file string, volume int) string { return fmt.Sprintf("%s.%03d", file, volume) }

// readFull reads exactly len(p) bytes at an offset.
func readFull(from io.ReaderAt, p []byte, at int64) error {
	n, err := from.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}
