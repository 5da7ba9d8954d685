package patches

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"syncd/internal/disk/directio"
	"syncd/internal/disk/fsops"
	"syncd/internal/downstream/patch"
)

// Part is a content and the path of the file that has it, "" for the empty one.
type Part struct {
	patch.Identity
	File string
}

// ErrUseless says that a patch is too large to be of use.
var ErrUseless = errors.New("the patch is not worth keeping")

// Make writes a patch and returns its size, or ErrUseless if that is most or more. It leaves the
// page cache as it is.
func Make(ctx context.Context, before, after Part, most int64, to io.WriterAt) (size int64, err error) {
	return makeRead(ctx, before, after, most, to, func() {})
}

// makeRead is Make with a call before each reading.
func makeRead(ctx context.Context, before, after Part, most int64, to io.WriterAt, reads func()) (size int64, err error) {
	was, err := before.open(reads)
	if err != nil {
		return 0, err
	}
	defer was.Close()
	is, err := after.open(reads)
	if err != nil {
		return 0, err
	}
	defer is.Close()
	if before.File == "" {
		if hopeless, err := isHopeless(is, after.Size, most); err != nil {
			return 0, err
		} else if hopeless {
			return 0, ErrUseless
		}
	}
	p, err := patch.Make(ctx, patch.Content{ReaderAt: was, Identity: before.Identity}, patch.Content{ReaderAt: is, Identity: after.Identity}, limited{to, most})
	if err != nil {
		return 0, err
	}
	return p.Size(), nil
}

// limited ends a patch that has become too large.
type limited struct {
	io.WriterAt
	most int64
}

func (l limited) WriteAt(b []byte, at int64) (int, error) {
	if at+int64(len(b)) >= l.most {
		return 0, ErrUseless
	}
	return l.WriterAt.WriteAt(b, at)
}

// file is a content on disk, read without a change of the page cache.
type file struct {
	*os.File
	reads func() // called before each reading
}

func (p Part) open(reads func()) (f file, err error) {
	f.reads = reads
	if p.File != "" {
		f.File, _, err = fsops.OpenRegular(p.File)
	}
	return f, err
}

func (f file) ReadAt(b []byte, at int64) (int, error) {
	if f.File == nil { // the empty content
		return 0, io.EOF
	}
	f.reads()
	return directio.ReadAt(f.File, b, at)
}

func (f file) Close() error {
	if f.File == nil {
		return nil
	}
	return f.File.Close()
}

// samples and sampleSize make 1 MiB of a content.
const samples, sampleSize = 16, 64 << 10

// isHopeless is true if samples of a content say that its compressed form has too many bytes.
func isHopeless(f file, size, most int64) (bool, error) {
	if size < 4*samples*sampleSize {
		return false, nil // all of it takes no longer
	}
	var packed int64
	buffer := make([]byte, sampleSize)
	for i := range int64(samples) {
		if _, err := f.ReadAt(buffer, (size-sampleSize)/(samples-1)*i); err != nil {
			return false, err
		}
		n, err := patch.Compressed(context.Background(), bytes.NewReader(buffer))
		if err != nil {
			return false, err
		}
		packed += n
	}
	// A sample compresses worse than the whole.
	return float64(packed)/float64(samples*sampleSize)*0.9 > float64(most)/float64(size), nil
}
