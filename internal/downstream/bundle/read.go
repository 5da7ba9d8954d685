package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"syncd/internal/disk/fsops"
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror/record"
)

// File is a file that may be a volume. Its name is for errors.
type File struct {
	Name string
	Size int64
	io.ReaderAt
}

// OpenFiles opens regular files, and waits for no FIFO. close closes them.
func OpenFiles(paths []string) (files []File, closeAll func(), err error) {
	var opened []io.Closer
	closeAll = func() {
		for _, f := range opened {
			f.Close()
		}
	}
	for _, path := range paths {
		f, info, err := fsops.OpenRegular(path)
		if err != nil {
			closeAll()
			return nil, func() {}, openError(path, err)
		}
		opened = append(opened, f)
		files = append(files, File{path, info.Size(), f})
	}
	return files, closeAll, nil
}

// openError names the next step.
func openError(path string, err error) error {
	switch {
	case errors.Is(err, fsops.ErrNotRegular):
		return fmt.Errorf("%s is not a regular file: name the files of a bundle", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: the user of syncd must be able to read it", err)
	}
	return err
}

// Bundle is a bundle whose volumes are all there. Safe for concurrent use.
type Bundle struct {
	ID      manifest.ObjectID
	Since   manifest.ObjectID // of the receipt whose contents are left out; zero for none
	Volumes []File            // in order

	Current    bucket.Current
	Generation bucket.Generation

	current  manifest.ObjectID // digest of the text of current.json
	texts    map[string]located
	contents []content // sorted by ID
	bytes    int64     // of the contents
}

// located is where the bytes of a member lie, part by part.
type located []part

type part struct {
	volume       int
	offset, size int64
}

func (l located) size() (bytes int64) {
	for _, p := range l {
		bytes += p.size
	}
	return bytes
}

// content is where a content lies.
type content struct {
	id    manifest.ObjectID
	first part
	rest  located // parts in further volumes
}

// Reading is how far Open reads.
type Reading bool

// Open reads the texts and where contents lie, or also all contents.
const (
	Texts Reading = false
	Whole Reading = true
)

// Open checks the volumes of a bundle, which come in any order, and finds its members. With
// Whole it proves each byte. Its errors name the file, and are refusals.
func Open(ctx context.Context, files []File, how Reading) (*Bundle, error) {
	heads, err := readHeads(files)
	if err != nil {
		return nil, err
	}
	b := &Bundle{ID: heads[0].ID, Since: heads[0].Since, texts: map[string]located{}}
	for _, h := range heads {
		b.Volumes = append(b.Volumes, h.file)
	}
	s := &scan{bundle: b, ctx: ctx, how: how, identity: newIdentity(heads[0].Limit, heads[0].Since), number: heads[0].Number}
	for i, h := range heads {
		if err := s.volume(i); err != nil {
			return nil, refuse(h.file, err)
		}
	}
	if err := s.end(); err != nil {
		return nil, refuse(heads[len(heads)-1].file, err)
	}
	return b, nil
}

// refuse returns the error of a volume.
func refuse(f File, err error) error {
	reason := cmp.Or(refusal.ReasonOf(err), refusal.BadShape)
	return refusal.New(reason, "bundle %s: %w", f.Name, err)
}

// volumeHead is the head of a file.
type volumeHead struct {
	head
	file File
}

// readHeads sorts files by their number. They must be all volumes of one bundle.
func readHeads(files []File) ([]volumeHead, error) {
	heads := make([]volumeHead, 0, len(files))
	for _, f := range files {
		h, err := readHead(f)
		if err != nil {
			return nil, refuse(f, err)
		}
		heads = append(heads, volumeHead{h, f})
	}
	if len(heads) == 0 {
		return nil, errors.New("no file of a bundle was given")
	}
	first := heads[0]
	slices.SortStableFunc(heads, func(a, b volumeHead) int { return a.Volume - b.Volume })
	for i, h := range heads {
		switch before := heads[max(0, i-1)]; {
		case h.ID != first.ID || h.Volumes != first.Volumes || h.Limit != first.Limit || h.Since != first.Since || h.Number != first.Number:
			return nil, refuse(h.file, fmt.Errorf("it belongs to another bundle than %s", first.file.Name))
		case i > 0 && h.Volume == before.Volume:
			return nil, refuse(h.file, fmt.Errorf("it is volume %d of %d, as is %s", h.Volume, h.Volumes, before.file.Name))
		}
	}
	for i := range first.Volumes {
		if i >= len(heads) || heads[i].Volume != i+1 {
			return nil, refuse(first.file, fmt.Errorf("%w: volume %d of %d, such as %s", ErrMissing, i+1, first.Volumes, VolumeName(stem(first.file.Name), i+1)))
		}
	}
	return heads, nil
}

// ErrMissing says that not all volumes of a bundle are there.
var ErrMissing = errors.New("a volume is missing")

// ErrCut says that a volume is shorter than it was written: its copy did not end.
var ErrCut = errors.New("it was cut: copy it again")

// stem is the name of a volume without its number.
func stem(name string) string {
	if whole, _, ok := cutPart(name); ok {
		return whole
	}
	return name
}

// readHead reads and checks how a file begins, and its size.
func readHead(f File) (head, error) {
	data := make([]byte, headSize)
	if f.Size < headSize {
		return head{}, fmt.Errorf("%w: it has %d bytes", errNoBundle, f.Size)
	}
	if err := readFull(f, data, 0); err != nil {
		return head{}, err
	}
	h, err := parseHead(data)
	switch {
	case err != nil:
		return head{}, err
	case f.Size < h.Bytes:
		return head{}, fmt.Errorf("%w: it has %d of %d bytes", ErrCut, f.Size, h.Bytes)
	case f.Size > h.Bytes:
		return head{}, fmt.Errorf("it has %d bytes behind its end", f.Size-h.Bytes)
	}
	return h, nil
}

// scan reads a bundle from its first byte to its last one.
type scan struct {
	bundle   *Bundle
	ctx      context.Context //nolint:containedctx // of one call of Open
	how      Reading
	identity identity
	number   int // of the generation, as the heads say

	index  int // of the volume
	from   *position
	kind   int       // of the last member: members come by kind
	name   string    // of the last member
	parts  located   // of a member that goes on in the next volume
	digest io.Writer // of the present member
	sum    func() manifest.ObjectID
	text   bytes.Buffer // of a member that is parsed
	limit  int64        // of the present member in bytes

	records map[string]bucket.Manifest // of the generation, that were not read
}

// position counts the bytes that were read of a volume.
type position struct {
	from *bufio.Reader
	at   int64
}

func (p *position) Read(b []byte) (int, error) {
	n, err := p.from.Read(b)
	p.at += int64(n)
	return n, err
}

// How many bytes of a volume are read at once: when all is read, and when contents are skipped.
const (
	readAhead = 1 << 20
	readTexts = 16 << 10
)

// atOnce is how many bytes of a volume are read at once.
func (s *scan) atOnce(f File) int {
	if s.how == Texts {
		return int(min(f.Size, readTexts))
	}
	return int(min(f.Size, readAhead))
}

// volume reads the members of a volume.
func (s *scan) volume(i int) error {
	f := s.bundle.Volumes[i]
	s.index, s.from = i, &position{bufio.NewReaderSize(io.NewSectionReader(f, 0, f.Size), s.atOnce(f)), 0}
	if _, err := io.CopyN(io.Discard, s.from, headSize); err != nil {
		return cutShort(err)
	}
	for first := true; ; first = false {
		if err := context.Cause(s.ctx); err != nil {
			return err
		}
		begin := s.from.at
		if isEnd, err := s.atEnd(f); isEnd || err != nil {
			return err
		}
		h, err := tar.NewReader(s.from).Next()
		if err != nil {
			return fmt.Errorf("byte %d: no header of a member: %w", begin, cutShort(err))
		}
		if err := s.checkHeader(f, h, begin); err != nil {
			return err
		}
		if err := s.member(h.Name, h.Size, first); err != nil {
			return err
		}
	}
}

// cutShort tells a volume that became shorter while it was read.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrCut
	}
	return err
}

// atEnd is true at the end of a volume.
func (s *scan) atEnd(f File) (bool, error) {
	if f.Size-s.from.at > trailer {
		return false, nil
	}
	end := make([]byte, trailer)
	if _, err := io.ReadFull(s.from, end); err != nil {
		return false, cutShort(err)
	}
	if !isZero(end) || s.from.at != f.Size {
		return false, errors.New("it does not end as a bundle does")
	}
	return true, nil
}

func isZero(b []byte) bool { return !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) }

// checkHeader requires the bytes that a bundle has for the name and the size of a member.
func (s *scan) checkHeader(f File, h *tar.Header, begin int64) error {
	if h.Typeflag != tar.TypeReg || h.Size < 0 || h.Size > maxMember {
		return fmt.Errorf("%.300q is not a member of a bundle", h.Name)
	}
	want := header(h.Name, h.Size)
	got := make([]byte, len(want))
	if s.from.at-begin != int64(len(want)) {
		return fmt.Errorf("the header of %.300q is not in its usual form", h.Name)
	}
	if err := readFull(f, got, begin); err != nil {
		return cutShort(err)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("the header of %.300q is not in its usual form", h.Name)
	}
	if f.Size-s.from.at < h.Size+padding(h.Size) {
		return fmt.Errorf("%.300q has %d bytes, more than its volume", h.Name, h.Size)
	}
	return nil
}

// The kinds of members, in their order.
const (
	isCurrent = iota + 1
	isGeneration
	isTrust
	isRecord
	isContent
)

// kindOf is the kind of a member, 0 for none.
func kindOf(name string) int {
	if name == bucket.CurrentName {
		return isCurrent
	}
	if _, ok := bucket.ParseGenerationName(name); ok {
		return isGeneration
	}
	if _, ok := bucket.ParseTrustName(name); ok {
		return isTrust
	}
	if _, ok := bucket.ParseObjectName(name); ok {
		return isContent
	}
	if bucket.IsRecordName(name) {
		return isRecord
	}
	return 0
}

// member reads a member, or a part of it.
func (s *scan) member(name string, size int64, isFirst bool) error {
	whole, number := name, 0
	if kindOf(name) == 0 {
		if cut, part, ok := cutPart(name); ok {
			whole, number = cut, part
		}
	}
	if number > 1 {
		if len(s.parts) == 0 || whole != s.name || !isFirst || number != len(s.parts)+1 {
			return fmt.Errorf("%.300q: a part that is not where it belongs", name)
		}
	} else if err := s.finish(); err != nil {
		return err
	} else if err := s.begin(whole); err != nil {
		return fmt.Errorf("%.300q: %w", name, err)
	}
	s.parts = append(s.parts, part{s.index, s.from.at, size})
	if s.parts.size() > s.limit {
		return refusal.New(refusal.TooLarge, "%.300q: more than %d bytes", name, s.limit)
	}
	if err := s.read(size); err != nil {
		return fmt.Errorf("%.300q: %w", name, err)
	}
	if number == 0 {
		return s.finish()
	}
	return nil
}

// begin checks that a member may stand here.
func (s *scan) begin(name string) error {
	kind := kindOf(name)
	switch {
	case kind == 0:
		return errors.New("not a name of a mirror")
	case kind < s.kind, (kind <= isGeneration || s.kind < isGeneration) && kind != s.kind+1:
		return errors.New("it is not where it belongs")
	case s.bundle.texts[name] != nil:
		return errors.New("it is there twice")
	case kind == isContent && len(s.bundle.contents) >= MaxContents:
		return refusal.New(refusal.TooLarge, "more than %d contents", MaxContents)
	}
	sum := sha256.New()
	s.kind, s.name, s.digest, s.sum = kind, name, sum, func() manifest.ObjectID { return manifest.ObjectID(sum.Sum(nil)) }
	s.text.Reset()
	switch kind {
	case isContent:
		s.limit = math.MaxInt64
	case isRecord:
		of, isNamed := s.records[name]
		if !isNamed {
			return errors.New("no record of the generation")
		}
		s.limit = record.Limit(of.Files)
	case isTrust:
		s.limit = trust.MaxText
	default:
		s.limit, s.digest = bucket.MaxText, io.MultiWriter(sum, &s.text)
	}
	return nil
}

// read reads the bytes of a member. Those of contents are skipped unless all is read.
func (s *scan) read(size int64) error {
	to := s.digest
	if s.kind == isContent && s.how == Texts {
		to = nil
	}
	if to == nil {
		return s.skip(size)
	}
	if _, err := io.CopyN(to, &cancellable{s.ctx, s.from}, size); err != nil {
		return cutShort(err)
	}
	fill := make([]byte, padding(size))
	if _, err := io.ReadFull(s.from, fill); err != nil {
		return cutShort(err)
	}
	if !isZero(fill) {
		return errors.New("bytes behind its end")
	}
	return nil
}

// skip goes on behind a member without reading it.
func (s *scan) skip(size int64) error {
	f, n := s.bundle.Volumes[s.index], size+padding(size)
	if n <= int64(s.from.from.Buffered()) {
		_, err := io.CopyN(io.Discard, s.from, n)
		return cutShort(err)
	}
	at := s.from.at + n
	s.from.from.Reset(io.NewSectionReader(f, at, f.Size-at))
	s.from.at = at
	return nil
}

// finish ends the member that was begun. A cut one ends where another one begins.
func (s *scan) finish() error {
	if len(s.parts) == 0 {
		return nil
	}
	at := s.parts
	s.parts = nil
	s.identity.member(s.name, at.size())
	if err := s.take(at, s.sum()); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// take takes a member that lies at a place and has a digest.
func (s *scan) take(at located, sum manifest.ObjectID) (err error) {
	if s.kind != isContent {
		s.bundle.texts[s.name] = at
	}
	switch s.kind {
	case isCurrent:
		s.bundle.current = sum
		s.bundle.Current, err = bucket.ParseCurrent(s.text.Bytes())
	case isGeneration:
		err = s.generation(sum)
	case isRecord:
		if want := s.records[s.name].RecordSHA256; want != sum {
			err = mismatch(sum, want)
		}
	case isContent:
		id, _ := bucket.ParseObjectName(s.name) // it was checked
		if s.how == Whole && id != sum {
			return mismatch(sum, id)
		}
		s.bundle.contents = append(s.bundle.contents, content{id, at[0], at[1:]})
		s.bundle.bytes += at.size()
	}
	return err
}

// mismatch is the error of bytes that were changed.
func mismatch(actual, expected manifest.ObjectID) error {
	return refusal.New(refusal.HashMismatch, "it has sha256 %s, and not %s: it was changed or damaged; copy the bundle again", actual, expected)
}

// generation takes the generation.
func (s *scan) generation(sum manifest.ObjectID) error {
	number, _ := bucket.ParseGenerationName(s.name) // it was checked
	if number != s.bundle.Current.Generation {
		return fmt.Errorf("%s names generation %d", bucket.CurrentName, s.bundle.Current.Generation)
	}
	if sum != s.bundle.Current.SHA256 {
		return mismatch(sum, s.bundle.Current.SHA256)
	}
	g, err := bucket.ParseGeneration(number, s.text.Bytes())
	if err != nil {
		return err
	}
	s.bundle.Generation, s.records = g, make(map[string]bucket.Manifest, len(g.Manifests))
	for _, m := range g.Manifests {
		if m.RecordSHA256.IsZero() {
			return fmt.Errorf("it does not name the record of %s by its digest", m.Name)
		}
		s.records[m.Record()] = m
	}
	return nil
}

// end checks what is known when all was read.
func (s *scan) end() error {
	if err := s.finish(); err != nil {
		return err
	}
	b := s.bundle
	if s.kind < isGeneration {
		return errors.New("it has no generation")
	}
	slices.SortFunc(b.contents, func(x, y content) int { return bytes.Compare(x.id[:], y.id[:]) })
	for i := 1; i < len(b.contents); i++ {
		if b.contents[i].id == b.contents[i-1].id {
			return fmt.Errorf("%s is there twice", bucket.ObjectName(b.contents[i].id))
		}
	}
	if s.identity.of(b.current) != b.ID || s.number != b.Generation.Number {
		return errors.New("it has other members than its head says")
	}
	return nil
}

// Volume says which part of which bundle a file is.
type Volume struct {
	ID         manifest.ObjectID // of the bundle
	Generation int
	Number     int // from 1 to Volumes
	Volumes    int
}

// Look reads how a file begins, and its size. An error says that it is no volume, or a part of
// one.
func Look(path string) (Volume, error) {
	files, closeFile, err := OpenFiles([]string{path})
	if err != nil {
		return Volume{}, err
	}
	defer closeFile()
	h, err := readHead(files[0])
	if err != nil {
		return Volume{}, err
	}
	return Volume{h.ID, h.Number, h.Volume, h.Volumes}, nil
}
