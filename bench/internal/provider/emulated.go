package provider

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"

	"syncd/internal/emulator"
)

// Emulated is the emulator as a provider, for plain HTTP and for cases that count
// requests or change the release.
type Emulated struct {
	*emulator.Emulator
	dir   string // of the contents
	files []File
}

// Emulate starts the emulator with one manifest of files of these sizes.
func Emulate(ctx context.Context, dir string, sizes []int64) (*Emulated, error) {
	started, err := emulator.Start(emulator.Config{CustomerID: CustomerID})
	if err != nil {
		return nil, err
	}
	e := &Emulated{Emulator: started, dir: filepath.Join(dir, "contents")}
	var files []emulator.File
	for i, size := range sizes {
		f, err := e.Content(i, size)
		if err != nil {
			e.Close()
			return nil, err
		}
		files = append(files, f)
		e.files = append(e.files, File{f.Name, size})
	}
	e.SetManifest(Manifest, Release, files...)
	if err := e.hashAll(ctx); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// Content returns a file whose content depends only on its number and size. Large
// contents lie on disk and are sent by sendfile, so that generating bytes costs the
// server nothing during a run.
func (e *Emulated) Content(number int, size int64) (emulator.File, error) {
	f := emulator.File{Name: NameOf(number)}
	if size > MiB {
		path := filepath.Join(e.dir, f.Name)
		f.Content = emulator.OnDisk(path)
		return f, writeContent(path, number, size)
	}
	random, err := emulator.Random(uint64(number+1), size).Open()
	if err != nil {
		return f, err
	}
	defer random.Close()
	data, err := io.ReadAll(random)
	f.Content = emulator.Bytes(data)
	return f, err
}

// hashAll requests the digest of every large file once, so that the server has computed
// it before the first run. Small files are hashed in the round that does not count.
func (e *Emulated) hashAll(ctx context.Context) error {
	for _, f := range e.files {
		if f.Size <= MiB {
			continue
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, Address(e, "SHA256", f), nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("digest of %s: status %s: %w", f.Name, res.Status, err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	return nil
}

// CAFile is empty, because the emulator speaks plain HTTP.
func (e *Emulated) CAFile() string { return "" }

// Files are the files that the emulator serves.
func (e *Emulated) Files() []File { return e.files }

// Forget drops the log of requests.
func (e *Emulated) Forget() error {
	e.ResetRequests()
	return nil
}

// Sent counts the bytes of files since Forget.
func (e *Emulated) Sent(context.Context) (int64, error) {
	return e.sent(emulator.HostDownload), nil
}

// SentByAll counts the bodies of all answers since Forget.
func (e *Emulated) SentByAll() int64 { return e.sent("") }

func (e *Emulated) sent(host string) (total int64) {
	for _, r := range e.Requests() {
		if host == "" || r.Host == host {
			total += r.BytesSent
		}
	}
	return total
}
