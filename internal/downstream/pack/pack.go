package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"

	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
)

// compressors are idle ones: each takes some memory to begin with. They are fast rather than
// thorough, because serve makes a pack for each follower.
var compressors = sync.Pool{New: func() any {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(window))
	if err != nil {
		panic(err) // only for options that do not exist
	}
	return encoder
}}

// window is how far back a pack's compression looks, in bytes. Serve makes many packs at once.
const window = 1 << 20

// Write writes a pack. open opens a content; one that has another size than the pack says is
// an error, after which what was written is of no use.
func Write(ctx context.Context, to io.Writer, p bucket.Pack, open func(manifest.ObjectID) (*os.File, error)) error {
	encoder := compressors.Get().(*zstd.Encoder)
	defer compressors.Put(encoder)
	encoder.Reset(to)
	buffer := make([]byte, bucket.PackedBelow)
	for _, c := range p.Contents {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		content, err := read(c.ID, buffer[:c.Size], open)
		if err != nil {
			return err
		}
		if _, err := encoder.Write(content); err != nil {
			return fmt.Errorf("write a pack: %w", err)
		}
	}
	if err := encoder.Close(); err != nil {
		return fmt.Errorf("write a pack: %w", err)
	}
	return nil
}

// read fills content with a content.
func read(id manifest.ObjectID, content []byte, open func(manifest.ObjectID) (*os.File, error)) ([]byte, error) {
	file, err := open(id)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err = io.ReadFull(file, content); err != nil {
		return nil, fmt.Errorf("content %s is shorter than its %d bytes: %w", id, len(content), err)
	}
	return content, nil
}

// ErrInvalid says that a text is not the pack that was asked for.
var ErrInvalid = errors.New("not the pack")

// Memory of a reader beside the contents, in bytes: the window of what a Writer makes.
const maxWindow = 8 << 20

var decompressors = sync.Pool{New: func() any {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		panic(err) // only for options that do not exist
	}
	return decoder
}}

// Read returns the contents of a pack, one after the other, in memory of its size. They are not
// proven. The error is ErrInvalid for a text that has fewer bytes or more, or is no zstd, and
// that of from.
func Read(from io.Reader, p bucket.Pack) ([]byte, error) {
	decoder := decompressors.Get().(*zstd.Decoder)
	defer func() {
		_ = decoder.Reset(nil) // lets from go
		decompressors.Put(decoder)
	}()
	failed := &failure{from: from}
	if err := decoder.Reset(failed); err != nil {
		return nil, err
	}
	contents := make([]byte, p.Size())
	_, err := io.ReadFull(decoder, contents)
	if err == nil {
		err = end(decoder)
	}
	switch {
	case failed.err != nil:
		return nil, failed.err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return contents, nil
}

// end requires that nothing follows.
func end(from io.Reader) error {
	n, err := from.Read(make([]byte, 1))
	for n == 0 && err == nil {
		n, err = from.Read(make([]byte, 1))
	}
	if n > 0 {
		return errors.New("it has more bytes than its contents")
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// failure keeps the error that a source failed with.
type failure struct {
	from io.Reader
	err  error
}

func (f *failure) Read(b []byte) (int, error) {
	n, err := f.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}
