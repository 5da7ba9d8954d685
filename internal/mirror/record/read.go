package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"syncd/internal/manifest"
)

// MaxText is the largest text of a record from another host in bytes.
const MaxText = 64 << 20

// maxOwn is the largest text of a record on disk in bytes.
const maxOwn = 512 << 20

// Limits of a shorter text, by its number of files. Readers plan their memory by that
// number, which is known before.
const (
	headText = 4 << 20 // bytes
	fileText = 2 << 10 // of a file on average
)

// MaxMember is the longest member of a record from another host, or file of its list, in
// bytes.
const MaxMember = 64 << 10

// MaxMembers bounds the members of such a record beside its files.
const MaxMembers = 64

// Limit is the longest text from another host of a record of so many files, in bytes.
func Limit(files int) int64 { return min(headText+int64(files)*fileText, MaxText) }

// Parse reads the record of a manifest on disk, from text that may hold anything.
func Parse(name string, text io.Reader) (r Record, err error) {
	if r.Files, err = (&list[File]{decode: decode[File]}).read(text, &r); err != nil {
		return Record{}, err
	}
	if r.Manifest != name {
		return Record{}, fmt.Errorf("it is a record of manifest %.80q", r.Manifest)
	}
	shareMetadata(r.Files)
	return r, r.Check()
}

// ParseView reads the record of a view on disk, from text that may hold anything.
func ParseView(name string, text io.Reader) (v View, err error) {
	if v.Files, err = (&list[ViewFile]{decode: decode[ViewFile]}).read(text, &v); err != nil {
		return View{}, err
	}
	if v.Name != name {
		return View{}, fmt.Errorf("it is a record of view %.80q", v.Name)
	}
	return v, v.Check()
}

// ReadForeign reads the text of another host, with at most so many files, whose other
// members become head. It does not check the files.
func ReadForeign(text io.Reader, head any, most int) ([]File, error) {
	files, err := (&list[File]{decode: decodeForeign, isBounded: true, most: most}).read(text, head)
	if err != nil {
		return nil, err
	}
	shareMetadata(files)
	return files, nil
}

// shareMetadata keeps equal members once: thousands of files have the same. It drops
// metadata that syncd does not write.
func shareMetadata(files []File) {
	known := map[string][]manifest.Member{}
	for i := range files {
		m := files[i].Metadata
		if m == nil {
			continue
		}
		if !m.Valid() {
			files[i].Metadata = nil
			continue
		}
		var key text
		for _, member := range m.Members {
			key.string(member.Name, member.Value)
		}
		if _, found := known[string(key.to)]; !found {
			known[string(key.to)] = m.Members
		}
		m.Members = known[string(key.to)]
	}
}

// list reads a text whose member files is a list, file by file: the text of a record can
// be larger than everything else that a sync holds in memory.
type list[F entry] struct {
	decode    func(*json.Decoder) (F, error)
	isBounded bool // the text may be meant to fill the memory
	most      int  // files, if it is bounded
	isRead    bool
	files     []F
}

// read is json.Unmarshal, but it returns the member files.
func (l *list[F]) read(text io.Reader, head any) ([]F, error) {
	limit := &limit{from: text, most: Limit(l.most)}
	if l.isBounded {
		text = limit
	} else {
		text = io.LimitReader(text, maxOwn)
	}
	decoder := json.NewDecoder(text)
	limit.decoder = decoder
	if err := expect(decoder, '{'); err != nil {
		return nil, err
	}
	members := map[string]json.RawMessage{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		if key == "files" {
			err = l.readFiles(decoder)
		} else {
			err = l.readMember(decoder, members, fmt.Sprint(key))
		}
		if err != nil {
			return nil, err
		}
	}
	if err := expect(decoder, '}'); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.Join(errors.New("data after the record"), err)
	}
	data, err := json.Marshal(members)
	if err == nil {
		err = json.Unmarshal(data, head)
	}
	return l.files, err
}

func (l *list[F]) readMember(decoder *json.Decoder, members map[string]json.RawMessage, key string) error {
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	if l.isBounded && len(members) == MaxMembers {
		return errors.New("too many members")
	}
	if !strings.EqualFold(key, "files") { // json.Unmarshal ignores case
		members[key] = value
	}
	return nil
}

func (l *list[F]) readFiles(decoder *json.Decoder) error {
	if l.isRead {
		return errors.New("two lists of files")
	}
	l.isRead = true
	switch token, err := decoder.Token(); {
	case err != nil || token == nil: // null means no files
		return err
	case token != json.Delim('['):
		return fmt.Errorf("the list of files begins with %.40v instead of [", token)
	}
	for decoder.More() {
		if l.isBounded && len(l.files) == l.most {
			return fmt.Errorf("more than %d files, which the generation says", l.most)
		}
		f, err := l.decode(decoder)
		if err == nil {
			err = checkContent(f) // at once: a file without one takes two bytes of the text, and hundreds of memory
		}
		if err != nil {
			return err
		}
		l.files = append(l.files, f)
	}
	return expect(decoder, ']')
}

func decode[F any](decoder *json.Decoder) (f F, err error) {
	err = decoder.Decode(&f)
	return f, err
}

// decodeForeign reads a file without what only a disk has. Another form of the metadata is
// no error.
func decodeForeign(decoder *json.Decoder) (File, error) {
	var f struct {
		Path      string             `json:"path"`
		Reference manifest.Reference `json:"reference"`
		Size      int64              `json:"size"`
		Object    manifest.ObjectID  `json:"sha256"`
		Metadata  json.RawMessage    `json:"metadata"`
	}
	if err := decoder.Decode(&f); err != nil {
		return File{}, err
	}
	if !utf8.Valid(f.Metadata) {
		return File{}, fmt.Errorf("the metadata of %.255q is not valid UTF-8", f.Path)
	}
	file := File{Path: f.Path, Reference: f.Reference, Size: f.Size, Object: f.Object}
	var metadata manifest.Metadata
	if len(f.Metadata) > 0 && json.Unmarshal(f.Metadata, &metadata) == nil {
		file.Metadata = &metadata
	}
	return file, nil
}

// limit ends a text with an error where one member of it would fill the memory.
type limit struct {
	from    io.Reader
	decoder *json.Decoder
	most    int64 // bytes in all
	read    int64
}

func (l *limit) Read(p []byte) (int, error) {
	left := min(l.decoder.InputOffset()+2*MaxMember, l.most) - l.read
	if left <= 0 {
		return 0, fmt.Errorf("a member of over %d bytes, or more than %d in all", MaxMember, l.most)
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
