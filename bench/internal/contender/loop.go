package contender

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
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

	"syncd/bench/internal/provider"
)

// LoopName names the bare Go loop. It shows what Go's HTTP client alone costs: it makes
// the requests of a first sync with the same concurrency and writes and hashes the
// files. It does nothing else: no retries, no checks of space or names, no fsync, no records, no publishing.
const LoopName = "a bare Go loop"

// loopList is what the loop fetches.
type loopList struct {
	CAFile string
	Files  []loopFile
}

// loopFile is one file of the list.
type loopFile struct {
	Hash, Metadata, Download string // URLs
	To                       string // path
}

// BareLoop runs this program again with -loop as the loop.
func BareLoop() Contender {
	return Contender{Name: LoopName, Command: func(p provider.Provider, dir string) (*exec.Cmd, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		list := loopList{CAFile: p.CAFile()}
		for _, f := range p.Files() {
			list.Files = append(list.Files, loopFile{
				provider.Address(p, "SHA256", f), provider.Address(p, "Metadata", f), provider.Address(p, "Download", f),
				filepath.Join(dir, f.Name),
			})
		}
		text, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, "list.json")
		return exec.Command(self, "-loop", path), os.WriteFile(path, text, 0o600)
	}}
}

// loopAtOnce is the concurrency of syncd for requests and small files.
const loopAtOnce = 64

// Loop fetches the list in a file.
func Loop(ctx context.Context, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var all loopList
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	client, err := loopClient(all.CAFile)
	if err != nil {
		return err
	}
	list := all.Files
	expected := make([]string, len(list))
	err = forEach(loopAtOnce, list, func(i int, f loopFile) (err error) {
		if expected[i], err = fetchText(ctx, client, f.Hash); err != nil {
			return err
		}
		_, err = fetchText(ctx, client, f.Metadata)
		return err
	})
	if err != nil {
		return err
	}
	return forEach(loopAtOnce, list, func(i int, f loopFile) error {
		got, err := download(ctx, client, f)
		if err == nil && !strings.Contains(expected[i], got) {
			err = fmt.Errorf("%s has digest %s, want %s", f.To, got, expected[i])
		}
		return err
	})
}

// loopClient returns a client that trusts a CA, and uses HTTP/2 where it is offered.
func loopClient(caFile string) (*http.Client, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: loopAtOnce, ForceAttemptHTTP2: true}
	if caFile == "" {
		return &http.Client{Transport: transport}, nil
	}
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	return &http.Client{Transport: transport}, nil
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
