package catalogue

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
)

// Content is the bytes of a file. Open returns an independent reader at each call.
// Size is -1 when there is nothing to open. Both are safe for concurrent use. The
// bytes must not change, except for OnDisk.
type Content interface {
	Open() (io.ReadSeekCloser, error)
	Size() int64
}

// Bytes returns a Content that holds b. The caller must not change b afterwards.
func Bytes(b []byte) Content { return &bytesContent{b} }

// Text returns a Content that holds s.
func Text(s string) Content { return &bytesContent{[]byte(s)} }

type bytesContent struct{ b []byte }

func (c *bytesContent) Size() int64 { return int64(len(c.b)) }

func (c *bytesContent) Open() (io.ReadSeekCloser, error) {
	return bytesReader{bytes.NewReader(c.b)}, nil
}

type bytesReader struct{ *bytes.Reader }

func (bytesReader) Close() error { return nil }

// OnDisk returns a Content that opens the file at path each time. It is served
// with sendfile. It counts as changed when its size or modification time changes.
func OnDisk(path string) Content { return diskContent{path} }

type diskContent struct{ path string }

func (c diskContent) Size() int64 {
	info, err := os.Stat(c.path)
	if err != nil {
		return -1
	}
	return info.Size()
}

func (c diskContent) Open() (io.ReadSeekCloser, error) { return os.Open(c.path) }

// sameContent returns whether a and b surely hold the same bytes. It reads no
// files.
func sameContent(a, b Content) bool {
	x, isBytes := a.(*bytesContent)
	y, areBytes := b.(*bytesContent)
	if isBytes && areBytes {
		return bytes.Equal(x.b, y.b)
	}
	if a == nil || b == nil || !reflect.TypeOf(a).Comparable() || !reflect.TypeOf(b).Comparable() {
		return false
	}
	return a == b
}

// textOf returns at least n bytes of invented lines.
func textOf(title string, n int) Content {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%s;%05d;%016x\n", title, i, mix(uint64(i)+uint64(len(title))))
	}
	return Text(b.String())
}
