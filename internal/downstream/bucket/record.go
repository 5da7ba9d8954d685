package bucket

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"syncd/internal/manifest"
)

// MaxFiles is the longest list that a provider may send.
const MaxFiles = 250_000

// MaxRecord is the largest text of a record in bytes.
const MaxRecord = 512 << 20

// Limits of a shorter text, by its number of files. Readers plan their memory by that
// number, which the generation says.
const (
	headText = 4 << 20 // bytes
	fileText = 2 << 10 // of a file on average
)

// maxMember is the longest member of a record, or file of its list, in bytes.
const maxMember = 64 << 10

// Record describes a revision of a manifest. Publishers that mirror the same revision
// write the same text, so that they can replace each other's.
type Record struct {
	Form     int              `json:"syncd_bucket"`
	Manifest string           `json:"manifest"`
	Release  manifest.Release `json:"release"`
	Revision string           `json:"revision"`
	Source   string           `json:"source"` // base URL of the provider without query and user part
	Listed   int              `json:"listed"` // files in the provider's list, before filters
	Bytes    int64            `json:"bytes"`
	Files    []File           `json:"files"` // sorted by path; the last member
}

// File is one file of a Record.
type File struct {
	Path      string            `json:"path"`      // within the manifest
	Reference string            `json:"reference"` // at the provider
	Size      int64             `json:"size"`      // bytes
	Object    manifest.ObjectID `json:"sha256"`
	Metadata  json.RawMessage   `json:"metadata,omitempty"` // of the provider, as syncd keeps it in its records

	Told *manifest.Metadata `json:"-"` // is written as Metadata: all texts together would fill the memory
}

// Entry is the record's entry in a generation.
func (r Record) Entry() Manifest {
	return Manifest{Name: r.Manifest, Release: r.Release, Revision: r.Revision, Files: len(r.Files), Bytes: r.Bytes}
}

// Check refuses a record that ParseRecord would refuse.
func (r Record) Check() error {
	r.Form = form
	return r.check(r.Entry())
}

// Name is the name of the record.
func (r Record) Name() string { return RecordName(r.Manifest, r.Release, r.Revision) }

// Write writes the text of a record, file by file: it can be larger than all else that a
// sync holds in memory.
func (r Record) Write(w io.Writer) error {
	files := r.Files
	r.Form, r.Files = form, []File{}
	head := strings.TrimSuffix(string(encode(r)), "[]\n}\n")
	to := bufio.NewWriter(w)
	before := head + "["
	for _, f := range files {
		text, err := f.text()
		if err != nil {
			return err
		}
		_, _ = to.WriteString(before + "\n  ") // Flush returns the first error
		_, _ = to.Write(text)
		before = ","
	}
	if len(files) == 0 {
		_, _ = to.WriteString(before)
	}
	_, _ = to.WriteString("\n ]\n}\n")
	return to.Flush()
}

func (f File) text() (_ []byte, err error) {
	if f.Told != nil {
		if f.Metadata, err = json.Marshal(f.Told); err != nil {
			return nil, err
		}
	}
	return json.Marshal(f)
}

// Limit is the longest text of a record of so many files, in bytes.
func Limit(files int) int64 { return min(headText+int64(files)*fileText, MaxRecord) }

// ParseRecord reads the record of a manifest of a generation. It refuses paths and
// references that no manifest can have, and files that do not make up the revision.
func ParseRecord(of Manifest, text io.Reader) (Record, error) {
	var r Record
	err := r.read(text, of.Files)
	if err == nil {
		err = r.check(of)
	}
	if err != nil {
		return Record{}, fmt.Errorf("%s: %w", of.Record(), err)
	}
	return r, nil
}

// read reads the members of a record in the order of Write, and at most so many files.
func (r *Record) read(text io.Reader, most int) error {
	limit := &limit{from: text, most: Limit(most)}
	decoder := json.NewDecoder(limit)
	limit.decoder = decoder
	if err := expect(decoder, json.Delim('{')); err != nil {
		return err
	}
	head := map[string]json.RawMessage{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return err
		}
		if key == "files" {
			err = r.readFiles(decoder, most)
		} else {
			err = readMember(decoder, head, fmt.Sprint(key))
		}
		if err != nil {
			return err
		}
	}
	if err := expect(decoder, json.Delim('}')); err != nil {
		return err
	}
	if err := end(decoder); err != nil {
		return err
	}
	data, err := json.Marshal(head)
	if err != nil {
		return err
	}
	files := r.Files
	err = json.Unmarshal(data, r)
	r.Files = files
	return err
}

// maxMembers bounds the members of a record beside its files.
const maxMembers = 64

func readMember(decoder *json.Decoder, head map[string]json.RawMessage, key string) error {
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	if len(head) == maxMembers {
		return errors.New("too many members")
	}
	if !strings.EqualFold(key, "files") { // json.Unmarshal ignores case
		head[key] = value
	}
	return nil
}

func (r *Record) readFiles(decoder *json.Decoder, most int) error {
	if r.Files != nil {
		return errors.New("two lists of files")
	}
	if err := expect(decoder, json.Delim('[')); err != nil {
		return err
	}
	r.Files = []File{}
	for decoder.More() {
		if len(r.Files) == most {
			return fmt.Errorf("more than %d files, which the generation says", most)
		}
		var f File
		if err := decoder.Decode(&f); err != nil {
			return err
		}
		r.Files = append(r.Files, f)
	}
	return expect(decoder, json.Delim(']'))
}

// limit ends a text with an error where one member of it would fill the memory.
type limit struct {
	from    io.Reader
	decoder *json.Decoder
	most    int64 // bytes in all
	read    int64
}

func (l *limit) Read(p []byte) (int, error) {
	left := min(l.decoder.InputOffset()+2*maxMember, l.most) - l.read
	if left <= 0 {
		return 0, fmt.Errorf("a member of over %d bytes, or more than %d in all", maxMember, l.most)
	}
	n, err := l.from.Read(p[:min(int64(len(p)), left)])
	l.read += int64(n)
	return n, err
}

func expect(decoder *json.Decoder, want json.Delim) error {
	token, err := decoder.Token()
	if err == nil && token != want {
		err = fmt.Errorf("found %.40v, expected %v", token, want)
	}
	return err
}

func (r Record) check(of Manifest) error {
	if err := checkForm(r.Form); err != nil {
		return err
	}
	if r.Manifest != of.Name || r.Release != of.Release || r.Revision != of.Revision {
		return fmt.Errorf("it is the record of %.80q %.40s-%.40s", r.Manifest, r.Release, r.Revision)
	}
	if err := checkNames(r.Manifest, r.Release, r.Revision); err != nil {
		return err
	}
	if err := checkLine("source", r.Source); err != nil {
		return err
	}
	if len(r.Files) == 0 || len(r.Files) != of.Files {
		return fmt.Errorf("%d files, the generation says %d", len(r.Files), of.Files)
	}
	if r.Listed < len(r.Files) || r.Listed > MaxFiles { // the next list is compared with it
		return fmt.Errorf("%d files cannot be of a list of %d", len(r.Files), r.Listed)
	}
	if r.Bytes != of.Bytes {
		return fmt.Errorf("%d bytes, the generation says %d", r.Bytes, of.Bytes)
	}
	return r.checkFiles()
}

func (r Record) checkFiles() error {
	sums, paths := make([]manifest.Sum, len(r.Files)), make([]string, len(r.Files))
	sizes := make(map[manifest.ObjectID]int64, len(r.Files))
	last, total := "", int64(0)
	for i, f := range r.Files {
		if err := f.check(); err != nil {
			return err
		}
		if f.Path <= last {
			return fmt.Errorf("%q is named twice or is not in order", f.Path)
		}
		if size, seen := sizes[f.Object]; seen && size != f.Size {
			return fmt.Errorf("%q has another size than a file with the same content", f.Path)
		}
		if f.Size > math.MaxInt64-total {
			return errors.New("the sizes add up to more than any disk")
		}
		last, total, sizes[f.Object] = f.Path, total+f.Size, f.Size
		sums[i], paths[i] = manifest.Sum{Object: f.Object, Path: f.Path}, f.Path
	}
	if total != r.Bytes {
		return fmt.Errorf("its files have %d bytes, not %d", total, r.Bytes)
	}
	if revision := manifest.RevisionID(sums); revision != r.Revision {
		return fmt.Errorf("its files make up revision %s", revision)
	}
	return manifest.CheckTree(paths)
}

func (f File) check() error {
	reference, err := manifest.ParseReference(f.Reference)
	if err != nil {
		return err
	}
	if reference.Path() != f.Path {
		return fmt.Errorf("%.255q is not the path of %s", f.Path, reference)
	}
	for segment := range strings.SplitSeq(f.Path, "/") {
		if err := manifest.CheckSegment(segment); err != nil {
			return err
		}
	}
	if f.Size < 0 || f.Object.IsZero() {
		return fmt.Errorf("%q has size %d and sha256 %s", f.Path, f.Size, f.Object)
	}
	if !utf8.Valid(f.Metadata) {
		return fmt.Errorf("the metadata of %q is not valid UTF-8", f.Path)
	}
	return nil
}
