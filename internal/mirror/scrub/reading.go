package scrub

import (
	"context"
	"crypto/sha256"
	"encoding"
	"errors"
	"hash"
	"io"
	"os"
	"slices"

	"syscall"

	"syncd/internal/disk/directio"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
	"syncd/internal/store"
	"syncd/internal/verify"
)

// pieceBytes is what one read takes at most.
const pieceBytes = 256 << 10

// reading is an object that is being read.
type reading struct {
	id     manifest.ObjectID
	file   *os.File
	proof  store.Proof // of the file
	reader *directio.Reader
	buffer []byte
	hash   hash.Hash
	bytes  int64
	err    error // why it cannot be read
}

// open opens an object. If part is of the same file, the reading goes on there.
func open(objects Objects, id manifest.ObjectID, part *store.ScrubPart) (*reading, error) {
	info, there := objects.Info(id)
	file, err := objects.Open(id)
	if err != nil {
		return nil, err
	}
	r := &reading{id: id, file: file, hash: sha256.New(), buffer: directio.Buffer(pieceBytes)}
	if there {
		r.proof = store.ProofOf(info)
	}
	if part != nil && part.Object == id && part.Proof == r.proof && r.hash.(encoding.BinaryUnmarshaler).UnmarshalBinary(part.Hash) == nil {
		r.bytes = part.Bytes
	} else {
		r.hash.Reset()
	}
	r.reader = directio.NewReaderAt(file, r.bytes)
	return r, nil
}

// read reads a piece of at most that many bytes. It returns true after the last one.
func (r *reading) read(most int) (n int64, isLast bool) {
	if r.err != nil {
		return 0, true
	}
	size := max(min(most, pieceBytes)/directio.Block, 1) * directio.Block // direct reads take whole blocks
	read, err := r.reader.Read(r.buffer[:size])
	r.hash.Write(r.buffer[:read])
	r.bytes += int64(read)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return int64(read), err != nil
}

// readAll reads the object to its end and returns what check does.
func (r *reading) readAll(ctx context.Context, rate *rate.Budget) error {
	for {
		n, isLast := r.read(rate.Most())
		if isLast {
			return r.check()
		}
		if err := rate.Wait(ctx, int(n)); err != nil {
			return err
		}
	}
}

// check is nil for an object that was read to its end and has the content of its name.
func (r *reading) check() error {
	if r.err != nil {
		return r.err
	}
	var actual manifest.ObjectID
	r.hash.Sum(actual[:0])
	if actual != r.id {
		return &verify.Mismatch{Expected: r.id.Digest(), Actual: actual.Digest()}
	}
	return nil
}

// part is what was read, or nil if the reading must begin anew.
func (r *reading) part() *store.ScrubPart {
	if r.file == nil || r.err != nil {
		return nil
	}
	state, err := r.hash.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return nil
	}
	return &store.ScrubPart{Object: r.id, Proof: r.proof, Bytes: r.bytes, Hash: state}
}

// isDamage is false for errors that say nothing about the object.
func isDamage(err error) bool {
	return !slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EACCES, syscall.EPERM}, func(other error) bool { return errors.Is(err, other) })
}

func (r *reading) close() {
	if r.file != nil {
		_ = r.file.Close() // it was only read
	}
}
