package bucket

import (
	"crypto/sha256"
	"fmt"
	"io"

	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// head is the text of a record but for its files. Publishers that mirror the same revision
// write the same text, so that they can replace each other's.
type head struct {
	Form     int              `json:"syncd_bucket"`
	Manifest string           `json:"manifest"`
	Release  manifest.Release `json:"release"`
	Revision string           `json:"revision"`
	Source   string           `json:"source"` // base URL of the provider without query and user part
	Listed   int              `json:"listed"` // files in the provider's list, before filters
	Bytes    int64            `json:"bytes"`
	Files    []struct{}       `json:"files"` // the last member
}

// ManifestOf is the entry of a record in a generation.
func ManifestOf(r record.Record) Manifest {
	return Manifest{Name: r.Manifest, Release: r.Release, Revision: r.Revision, Files: len(r.Files), Bytes: r.Bytes}
}

// CheckRecord refuses a record that ParseRecord would refuse.
func CheckRecord(r record.Record) error { return checkRecord(r, ManifestOf(r)) }

// WriteRecord writes the text of a record, file by file: it can be larger than all else that
// a sync holds in memory.
func WriteRecord(w io.Writer, r record.Record) error {
	h := head{form, r.Manifest, r.Release, r.Revision, r.Source, r.Listed, r.Bytes, []struct{}{}}
	return record.InBucket.Write(w, h, r.Files)
}

// OtherRecordError says that the text under a record's name is not the one that the
// generation names.
type OtherRecordError struct{ Record, Actual, Expected string }

func (e *OtherRecordError) Error() string {
	return fmt.Sprintf("%s has sha256 %s, but its generation says %s", e.Record, e.Actual, e.Expected)
}

// ReadRecord is ParseRecord for the text that a generation names by its SHA-256. It returns
// *OtherRecordError for another text.
func ReadRecord(of Manifest, text io.Reader) (record.Record, error) {
	if of.RecordSHA256.IsZero() {
		return ParseRecord(of, text)
	}
	sum := sha256.New()
	text = io.TeeReader(text, sum)
	r, err := ParseRecord(of, text)
	if _, restErr := io.Copy(io.Discard, text); restErr != nil {
		return record.Record{}, fmt.Errorf("%s: %w", of.Record(), restErr)
	}
	if actual := manifest.ObjectID(sum.Sum(nil)); actual != of.RecordSHA256 {
		return record.Record{}, &OtherRecordError{of.Record(), actual.String(), of.RecordSHA256.String()}
	}
	return r, err
}

// ParseRecord reads the record of a manifest of a generation. It refuses paths and
// references that no manifest can have, and files that do not make up the revision.
func ParseRecord(of Manifest, text io.Reader) (record.Record, error) {
	var h head
	files, err := record.ReadForeign(text, &h, of.Files)
	if err == nil {
		err = checkForm(h.Form)
	}
	r := record.Record{Manifest: h.Manifest, Release: h.Release, Revision: h.Revision, Source: h.Source, Listed: h.Listed, Bytes: h.Bytes, Files: files}
	if err == nil {
		err = checkRecord(r, of)
	}
	if err != nil {
		return record.Record{}, fmt.Errorf("%s: %w", of.Record(), err)
	}
	return r, nil
}

func checkRecord(r record.Record, of Manifest) error {
	if r.Manifest != of.Name || r.Release != of.Release || r.Revision != of.Revision {
		return fmt.Errorf("it is the record of %.80q %.40s-%.40s", r.Manifest, r.Release, r.Revision)
	}
	if err := checkNames(r.Manifest, r.Release, r.Revision); err != nil {
		return err
	}
	if err := checkLine("source", r.Source); err != nil {
		return err
	}
	if len(r.Files) != of.Files {
		return fmt.Errorf("%d files, the generation says %d", len(r.Files), of.Files)
	}
	bytes, err := r.CheckRevision()
	if err == nil && (bytes != r.Bytes || bytes != of.Bytes) {
		err = fmt.Errorf("its files have %d bytes, its record says %d and the generation %d", bytes, r.Bytes, of.Bytes)
	}
	return err
}
