package record

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
)

// Form is how a text has its files. The forms never change: earlier and later versions of
// syncd read each other's texts.
type Form struct {
	depth     int  // levels that the head is indented by
	digests   bool // with the provider's digests, slashes and positions
	metadata  bool
	lines     bool // each file is one line
	plainHead bool // <, > and & are not escaped in the head
	plain     bool // nor in the files
}

// The forms of a record.
var (
	OnDisk     = Form{digests: true, metadata: true}
	InBucket   = Form{metadata: true, lines: true, plainHead: true}
	InLockfile = Form{depth: 2, plainHead: true, plain: true}
)

// Write writes the text of a record on disk.
func (r Record) Write(w io.Writer) error {
	files := r.Files
	r.Files = []File{}
	return OnDisk.Write(w, r, files)
}

// Write writes the text of a view on disk.
func (v View) Write(w io.Writer) error {
	files := v.Files
	v.Files = []ViewFile{}
	return writeList(w, OnDisk, v, files)
}

// Write writes head, whose last member is an empty list, with the files as that list.
func (form Form) Write(w io.Writer, head any, files []File) error {
	return writeList(w, form, head, files)
}

// writeList writes the text of json.MarshalIndent, but file by file: it would hold the
// text of a record with 100,000 files in memory several times.
func writeList[F interface{ write(*text, Form) }](w io.Writer, form Form, head any, files []F) error {
	before, after, err := form.cut(head)
	if err != nil {
		return err
	}
	to := bufio.NewWriter(w)
	_, _ = to.Write(before) // Flush returns the first error
	t := text{depth: form.depth + 1, lines: form.lines, plain: form.plain}
	t.open('[')
	for _, f := range files {
		t.next()
		f.write(&t, form)
		if _, err := to.Write(t.to); err != nil {
			return err
		}
		t.to = t.to[:0]
	}
	t.close(']')
	_, _ = to.Write(t.to)
	_, _ = to.Write(after)
	return to.Flush()
}

// cut returns the text of head before its empty list, and after it.
func (form Form) cut(head any) (before, after []byte, err error) {
	var all bytes.Buffer
	encoder := json.NewEncoder(&all)
	encoder.SetEscapeHTML(!form.plainHead)
	encoder.SetIndent(strings.Repeat(" ", form.depth), " ")
	if err := encoder.Encode(head); err != nil {
		return nil, nil, err
	}
	whole := all.Bytes()
	if form.depth > 0 {
		whole = bytes.TrimSuffix(whole, []byte("\n")) // more follows
	}
	at := bytes.LastIndex(whole, []byte("[]"))
	return whole[:at], whole[at+len("[]"):], nil
}

func (f File) write(t *text, form Form) {
	t.open('{')
	t.string("path", f.Path)
	t.string("reference", f.Reference.String())
	t.number("size", f.Size)
	t.hex("sha256", f.Object)
	if form.digests {
		t.string("promised", f.Expected.String())
		if f.Slash {
			t.member("slash")
			t.to = append(t.to, "true"...)
		}
		if f.Position != 0 {
			t.number("position", int64(f.Position))
		}
	}
	if form.metadata && f.Metadata != nil {
		t.metadata("metadata", f.Metadata)
	}
	t.close('}')
}

func (f ViewFile) write(t *text, _ Form) {
	t.open('{')
	t.string("path", f.Path)
	t.string("manifest", f.Manifest)
	t.string("from", f.From)
	t.number("size", f.Size)
	t.hex("sha256", f.Object)
	t.close('}')
}

// text appends JSON as package json writes it, indented by one space a level, or on one
// line. Reflection would take too long for 250,000 files.
type text struct {
	to      []byte
	depth   int
	lines   bool // no indentation below the list of files
	plain   bool // <, > and & are not escaped
	follows bool // the open list or object has something already
}

func (t *text) open(bracket byte) {
	t.to = append(t.to, bracket)
	t.depth++
	t.follows = false
}

func (t *text) close(bracket byte) {
	t.depth--
	if t.follows && (!t.lines || t.depth == listDepth) {
		t.newLine()
	}
	t.to = append(t.to, bracket)
	t.follows = true
}

// next begins an element of the open list, or a member of the open object.
func (t *text) next() {
	if t.follows {
		t.to = append(t.to, ',')
	}
	if !t.lines || t.depth == listDepth+1 {
		t.newLine()
	}
	t.follows = true
}

// listDepth is the depth of the list of files in a form with lines.
const listDepth = 1

const spaces = "                "

func (t *text) newLine() { t.to = append(append(t.to, '\n'), spaces[:t.depth]...) }

func (t *text) member(name string) {
	t.next()
	t.to = append(append(append(t.to, '"'), name...), '"', ':')
	if !t.lines {
		t.to = append(t.to, ' ')
	}
}

func (t *text) number(name string, value int64) {
	t.member(name)
	t.to = strconv.AppendInt(t.to, value, 10)
}

func (t *text) hex(name string, id manifest.ObjectID) {
	t.member(name)
	t.to = append(hex.AppendEncode(append(t.to, '"'), id[:]), '"')
}

func (t *text) string(name, value string) {
	t.member(name)
	isPlain := !strings.ContainsFunc(value, func(c rune) bool {
		return c < ' ' || c > '~' || strings.ContainsRune(`"\<>&`, c)
	})
	if isPlain {
		t.to = append(append(append(t.to, '"'), value...), '"')
		return
	}
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(!t.plain)
	_ = encoder.Encode(value) // never fails for a string
	t.to = append(t.to, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}

func (t *text) metadata(name string, m *manifest.Metadata) {
	t.member(name)
	t.open('{')
	if !m.MD5.IsZero() {
		t.string("md5", m.MD5.String())
	}
	if !m.SHA1.IsZero() {
		t.string("sha1", m.SHA1.String())
	}
	if len(m.Members) > 0 {
		t.member("members")
		t.open('[')
		for _, member := range m.Members {
			t.next()
			t.open('{')
			t.string("name", member.Name)
			t.string("value", member.Value)
			t.close('}')
		}
		t.close(']')
	}
	t.close('}')
}

// WriteSums writes `<manifest>.SHA256SUMS` for `sha256sum -c` within the generation.
func (r Record) WriteSums(w io.Writer) error {
	sums := sumsWriter{to: w, dir: r.Manifest}
	for _, f := range r.Files {
		if err := sums.add(f.Object, f.Path); err != nil {
			return err
		}
	}
	return nil
}

// WriteSums writes `<view>.SHA256SUMS`, hash files included.
func (v View) WriteSums(w io.Writer) error {
	sums := sumsWriter{to: w, dir: v.Name}
	for _, f := range v.Files {
		if err := sums.add(f.Object, f.Path); err != nil {
			return err
		}
		if !v.HashFiles {
			continue
		}
		if err := sums.add(sha256.Sum256([]byte(layout.HashText(f.Object))), layout.HashName(f.Path)); err != nil {
			return err
		}
	}
	return nil
}

// sumsWriter writes a file for `sha256sum -c`. Names need no escaping, because those that
// would need it are refused.
type sumsWriter struct {
	to   io.Writer
	dir  string
	line []byte
}

func (s *sumsWriter) add(id manifest.ObjectID, path string) error {
	line := append(hex.AppendEncode(s.line[:0], id[:]), "  "...)
	line = append(append(line, s.dir...), '/')
	s.line = append(append(line, path...), '\n')
	_, err := s.to.Write(s.line)
	return err
}
