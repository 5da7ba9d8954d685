package patch

import (
	"context"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// NewCompressor returns a writer of a whole content in zstd, which is what a patch must be
// smaller than to be of use. Its caller closes it.
func NewCompressor(to io.Writer) (*zstd.Encoder, error) {
	return zstd.NewWriter(to, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
}

// Compressed returns the size of a content in zstd.
func Compressed(ctx context.Context, from io.Reader) (size int64, err error) {
	var to counter
	encoder, err := NewCompressor(&to)
	if err != nil {
		return 0, err
	}
	buffer := make([]byte, scanBuffer)
	for {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		n, err := from.Read(buffer)
		if _, err := encoder.Write(buffer[:n]); err != nil {
			return 0, err
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	err = encoder.Close()
	return int64(to), err
}

// counter counts bytes, and drops them.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}
