package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror/record"
)

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
	trusts int          // trust texts that were begun

	records map[string]bucket.Manifest // of the generation
	room    int64                      // bytes that further contents and patches may have
	patches map[string]bucket.Patch    // that the lists name
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
	isPatchList
	isContent // or a patch
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
	if _, _, ok := bucket.ParsePatchName(name); ok {
		return isContent
	}
	if _, ok := bucket.PatchListRecord(name); ok {
		return isPatchList
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
	if s.kind == isContent {
		if size > s.room {
			return refusal.New(refusal.TooLarge, "%.300q: the contents have more bytes than the manifests of the generation", name)
		}
		s.room, s.bundle.bytes = s.room-size, s.bundle.bytes+size
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
	case kind == isContent && len(s.bundle.contents)+s.bundle.patches >= MaxContents:
		return refusal.New(refusal.TooLarge, "more than %d contents", MaxContents)
	case kind == isTrust && s.trusts >= maxTrusts:
		return refusal.New(refusal.TooLarge, "more than %d trust texts", maxTrusts)
	}
	sum := sha256.New()
	s.kind, s.name, s.digest, s.sum = kind, name, sum, func() manifest.ObjectID { return manifest.ObjectID(sum.Sum(nil)) }
	s.text.Reset()
	switch kind {
	case isContent:
		s.limit = math.MaxInt64
	case isPatchList:
		if record, _ := bucket.PatchListRecord(name); s.bundle.texts[record] == nil {
			return errors.New("no list of a record in the bundle")
		}
		s.limit, s.digest = bucket.MaxText, io.MultiWriter(sum, &s.text)
	case isRecord:
		of, isNamed := s.records[name]
		if !isNamed {
			return errors.New("no record of the generation")
		}
		s.limit = record.Limit(of.Files)
	case isTrust:
		s.trusts, s.limit = s.trusts+1, trust.MaxText
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
	id, isContents := bucket.ParseObjectName(s.name)
	if !isContents {
		s.bundle.texts[s.name] = at
	}
	switch s.kind {
	case isCurrent:
		s.bundle.current, s.bundle.text = sum, bytes.Clone(s.text.Bytes())
		s.bundle.Current, err = bucket.ParseCurrent(s.text.Bytes())
	case isGeneration:
		err = s.generation(sum)
	case isRecord:
		if want := s.records[s.name].RecordSHA256; want != sum {
			err = mismatch(sum, want)
		}
	case isPatchList:
		err = s.patchList()
	case isContent:
		if !isContents {
			return s.patch(at.size(), sum)
		}
		if s.how == Whole && id != sum {
			return mismatch(sum, id)
		}
		s.bundle.contents = append(s.bundle.contents, content{id, at[0], at[1:]})
	}
	return err
}

// patchList takes a list of patches, which says what their bytes are.
func (s *scan) patchList() error {
	list, err := bucket.ParsePatchList(s.name, s.text.Bytes())
	if err == nil && !bytes.Equal(list.Text(), s.text.Bytes()) {
		return errors.New("it is not in its usual form: it was changed or damaged; copy the bundle again")
	}
	for _, p := range list.Patches {
		if p.SHA256.IsZero() {
			return fmt.Errorf("it does not name %s by its digest", p.Name())
		}
		if before, isKnown := s.patches[p.Name()]; isKnown && before != p {
			return fmt.Errorf("another list has another %s", p.Name())
		}
		if s.patches[p.Name()] = p; len(s.patches) > bucket.MaxPatches { // which no export makes, and no memory holds
			return refusal.New(refusal.TooLarge, "the lists name more than %d patches", bucket.MaxPatches)
		}
	}
	return err
}

// patch takes a patch that has a size and a digest.
func (s *scan) patch(size int64, sum manifest.ObjectID) error {
	want, isNamed := s.patches[s.name]
	switch {
	case !isNamed:
		return errors.New("no list names it")
	case size != want.Size:
		return fmt.Errorf("it has %d bytes, and its list says %d", size, want.Size)
	case s.how == Whole && sum != want.SHA256:
		return mismatch(sum, want.SHA256)
	}
	s.bundle.patches++
	return nil
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
		s.room = min(s.room+min(m.Bytes, maxMember), maxMember)
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
	if len(s.patches) != b.patches {
		return fmt.Errorf("it has %d of the %d patches that its lists name", b.patches, len(s.patches))
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
