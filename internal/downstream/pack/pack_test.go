package pack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// folder are contents on the disk.
type folder string

func (d folder) Open(id manifest.ObjectID) (*os.File, error) {
	return os.Open(filepath.Join(string(d), id.String()))
}

// sample writes contents to a folder and returns their pack.
func sample(t *testing.T, contents ...string) (folder, bucket.Pack) {
	t.Helper()
	dir := folder(t.TempDir())
	var files []record.File
	for _, c := range contents {
		id := manifest.ObjectID(sha256.Sum256([]byte(c)))
		if err := os.WriteFile(filepath.Join(string(dir), id.String()), []byte(c), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, record.File{Object: id, Size: int64(len(c))})
	}
	packs := bucket.PacksOf(files)
	if len(packs) != 1 {
		t.Fatalf("%d packs", len(packs))
	}
	return dir, packs[0]
}

func written(t *testing.T, dir folder, p bucket.Pack) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := Write(context.Background(), &text, p, dir.Open); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

func TestAPackIsReadAsItWasWritten(t *testing.T) {
	dir, p := sample(t, "one", strings.Repeat("two", 9000), "three")
	text := written(t, dir, p)
	for range 2 { // with what the first one left
		got, err := Read(iotest.OneByteReader(bytes.NewReader(text)), p)
		if want := "one" + strings.Repeat("two", 9000) + "three"; err != nil || string(got) != want {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	if len(text) > 1000 {
		t.Errorf("%d bytes of 27,008 that repeat", len(text))
	}
}

func TestAContentThatChangedEndsThePack(t *testing.T) {
	dir, p := sample(t, "one", "two")
	name := filepath.Join(string(dir), p.Contents[1].ID.String())
	if err := os.WriteFile(name, []byte("tw"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(context.Background(), io.Discard, p, dir.Open); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), p.Contents[1].ID.String()) {
		t.Error(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := Write(context.Background(), io.Discard, p, dir.Open); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestOtherTextsAreRefused(t *testing.T) {
	dir, p := sample(t, "one", "two")
	text := written(t, dir, p)
	other := func(contents string) []byte {
		encoder, _ := zstd.NewWriter(nil)
		return encoder.EncodeAll([]byte(contents), nil)
	}
	for name, bad := range map[string][]byte{
		"empty": nil, "cut": text[:len(text)-3], "more behind it": append(bytes.Clone(text), 'x'), "two": append(bytes.Clone(text), text...),
		"short": other("onetw"), "long": other("onetwoo"), "bomb": other(strings.Repeat("x", 64<<20)), "plain": []byte("onetwo"),
	} {
		if got, err := Read(bytes.NewReader(bad), p); !errors.Is(err, ErrInvalid) || got != nil {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	broken := errors.New("the connection broke")
	if _, err := Read(io.MultiReader(bytes.NewReader(text[:5]), iotest.ErrReader(broken)), p); !errors.Is(err, broken) || errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	files := []record.File{{Object: manifest.ObjectID{1}, Size: 3}, {Object: manifest.ObjectID{2}, Size: 1000}}
	p := bucket.PacksOf(files)[0]
	encoder, _ := zstd.NewWriter(nil)
	f.Add(encoder.EncodeAll(make([]byte, 1003), nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Read(bytes.NewReader(text), p)
		if err == nil && int64(len(got)) != p.Size() || err != nil && got != nil {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	})
}
