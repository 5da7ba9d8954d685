package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// The bare Go loop shows what Go's HTTP client alone costs. It makes the requests of a
// first sync with the same concurrency and writes and hashes the files. It does nothing
// else: no retries, no checks of space or names, no fsync, no records, no publishing.
const loopName = "a bare Go loop"

// loopFile is one file of the list that the loop fetches.
type loopFile struct {
	Hash, Metadata, Download string // URLs
	To                       string // path
}

// bareLoop runs this program again as the loop.
func bareLoop() contender {
	return contender{name: loopName, command: func(s *served, dir string) (*exec.Cmd, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		var list []loopFile
		for _, f := range s.files {
			list = append(list, loopFile{s.hashURL(f), s.url("Metadata", f), s.downloadURL(f), filepath.Join(dir, f.name)})
		}
		text, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, "list.json")
		return exec.Command(self, "-loop", path), os.WriteFile(path, text, 0o600)
	}}
}

// The loop has the concurrency of syncd with its defaults.
const loopLookups, loopTransfers = 32, 4

func loop(ctx context.Context, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var list []loopFile
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: loopLookups}}
	expected := make([]string, len(list))
	err = forEach(loopLookups, list, func(i int, f loopFile) (err error) {
		if expected[i], err = fetchText(ctx, client, f.Hash); err != nil {
			return err
		}
		_, err = fetchText(ctx, client, f.Metadata)
		return err
	})
	if err != nil {
		return err
	}
	return forEach(loopTransfers, list, func(i int, f loopFile) error {
		got, err := download(ctx, client, f)
		if err == nil && !strings.Contains(expected[i], got) {
			err = fmt.Errorf("%s has digest %s, want %s", f.To, got, expected[i])
		}
		return err
	})
}

func forEach(atOnce int, list []loopFile, do func(i int, f loopFile) error) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, f := range list {
		group.Go(func() error { return do(i, f) })
	}
	return group.Wait()
}

func fetchText(ctx context.Context, client *http.Client, url string) (string, error) {
	body, err := open(ctx, client, url)
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	return string(text), err
}

// download writes a file and returns its SHA-256 in hex.
func download(ctx context.Context, client *http.Client, f loopFile) (string, error) {
	body, err := open(ctx, client, f.Download)
	if err != nil {
		return "", err
	}
	defer body.Close()
	file, err := os.Create(f.To)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(file, hash), body)
	return hex.EncodeToString(hash.Sum(nil)), err
}

func open(ctx context.Context, client *http.Client, url string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil, fmt.Errorf("%s: %s", url, res.Status)
	}
	return res.Body, nil
}
