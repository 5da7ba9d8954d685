package bundle

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"syncd/internal/manifest"
)

const receiptHeader = "syncd-receipt/v1"

// MaxReceipt is the largest receipt in bytes.
const MaxReceipt = 512 + MaxContents*65

// Receipt says which contents a host has, so that a bundle for it leaves them out.
type Receipt struct {
	Host     string
	ID       manifest.ObjectID   // digest of its text
	contents []manifest.ObjectID // sorted
}

// NewReceipt returns the receipt of a host. It keeps contents.
func NewReceipt(host string, contents []manifest.ObjectID) (Receipt, error) {
	slices.SortFunc(contents, compareIDs)
	r := Receipt{Host: host, contents: slices.Compact(contents)}
	if err := checkHost(host); err != nil {
		return Receipt{}, err
	}
	if len(r.contents) > MaxContents {
		return Receipt{}, fmt.Errorf("%d contents are too many for a receipt: the most are %d", len(r.contents), MaxContents)
	}
	sum := sha256.New()
	if err := r.Write(sum); err != nil {
		return Receipt{}, err
	}
	r.ID = manifest.ObjectID(sum.Sum(nil))
	return r, nil
}

func compareIDs(a, b manifest.ObjectID) int { return bytes.Compare(a[:], b[:]) }

func checkHost(host string) error {
	if host == "" || len(host) > 255 || strings.ContainsFunc(host, func(c rune) bool { return !unicode.IsGraphic(c) }) {
		return fmt.Errorf("host %.80q is not one short line", host)
	}
	return nil
}

// Len is how many contents the receipt names.
func (r Receipt) Len() int { return len(r.contents) }

// Has is true for a content that the host has.
func (r Receipt) Has(id manifest.ObjectID) bool {
	_, found := slices.BinarySearchFunc(r.contents, id, compareIDs)
	return found
}

// Write writes the text of the receipt.
func (r Receipt) Write(to io.Writer) error {
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, "%s\nhost %s\ncontents %d\n", receiptHeader, r.Host, len(r.contents))
	for _, id := range r.contents {
		fmt.Fprintf(w, "%s\n", id)
	}
	return w.Flush()
}

// ParseReceipt reads what Write writes, and nothing else.
func ParseReceipt(text []byte) (Receipt, error) {
	r, err := parseReceipt(text)
	if err != nil {
		return Receipt{}, fmt.Errorf("receipt: %w", err)
	}
	return r, nil
}

func parseReceipt(text []byte) (Receipt, error) {
	if len(text) > MaxReceipt {
		return Receipt{}, fmt.Errorf("%d bytes, at most %d are allowed", len(text), MaxReceipt)
	}
	next := func() string {
		line, rest, isWhole := bytes.Cut(text, []byte("\n"))
		if text = rest; !isWhole {
			return "" // which no line of a receipt is
		}
		return string(line)
	}
	r := Receipt{ID: sha256.Sum256(text)}
	if next() != receiptHeader {
		return Receipt{}, errors.New("not a receipt: make one with `syncd bundle receipt` on the host that imports")
	}
	var isHost, isCount bool
	var count string
	r.Host, isHost = strings.CutPrefix(next(), "host ")
	count, isCount = strings.CutPrefix(next(), "contents ")
	n, err := strconv.Atoi(count)
	if !isHost || !isCount || err != nil || n < 0 || n > MaxContents || strconv.Itoa(n) != count {
		return Receipt{}, errors.New("its first lines are damaged")
	}
	if err := checkHost(r.Host); err != nil {
		return Receipt{}, err
	}
	if len(text) != n*65 {
		return Receipt{}, fmt.Errorf("it was cut or changed: %d bytes of contents, and not %d", len(text), n*65)
	}
	r.contents = make([]manifest.ObjectID, n)
	for i := range r.contents {
		if text[64] != '\n' {
			return Receipt{}, fmt.Errorf("line %d is damaged", i+4)
		}
		if r.contents[i], err = manifest.ParseObjectID(next()); err != nil {
			return Receipt{}, fmt.Errorf("line %d: %w", i+4, err)
		}
		if i > 0 && compareIDs(r.contents[i-1], r.contents[i]) >= 0 {
			return Receipt{}, fmt.Errorf("line %d is not in order", i+4)
		}
	}
	return r, nil
}
