//go:build !windows

package fsops

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("text"), 0o600),
		os.Symlink("file", at("link")),
		syscall.Mkfifo(at("fifo"), 0o600),
		os.Symlink("fifo", at("link to fifo")),
		os.Mkdir(at("folder"), 0o700),
	} {
		must(t, err)
	}
	listener, err := net.Listen("unix", at("socket"))
	must(t, err)
	defer listener.Close()
	for name, want := range map[string]error{
		at("file"): nil, at("link"): nil, at("nosuch"): fs.ErrNotExist,
		at("fifo"): ErrNotRegular, at("link to fifo"): ErrNotRegular, at("folder"): ErrNotRegular, at("socket"): ErrNotRegular, "/dev/zero": ErrNotRegular,
	} {
		data, info, err := ReadRegular(name, 4)
		if _, ok := errors.AsType[*fs.PathError](err); !errors.Is(err, want) || err != nil && !ok {
			t.Errorf("%s: error %v, want %v", name, err, want)
		}
		if err == nil && (string(data) != "text" || info.Size() != 4) {
			t.Errorf("%s: %q, %v", name, data, info)
		}
	}
	if _, _, err := ReadRegular(at("file"), 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a file above the limit: %v", err)
	}
}
