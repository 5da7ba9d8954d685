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

func TestAPackHasItsContentsInTheirOrder(t *testing.T) {
	dir, p := sample(t, "one", strings.Repeat("two", 9000), "three")
	for range 2 { // with what the first one left
		text := written(t, dir, p)
		decoder, err := zstd.NewReader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(decoder)
		decoder.Close()
		if want := "one" + strings.Repeat("two", 9000) + "three"; err != nil || string(got) != want {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if len(text) > 1000 {
			t.Errorf("%d bytes of 27,008 that repeat", len(text))
		}
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
