package pack

import (
	"context"
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
