//go:build linux

package httpserver

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	toolkit "github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v2"
	"golang.org/x/sys/unix"

	"syncd/internal/disk/fsops"
)

// maxFile limits an exporter-toolkit file in bytes.
const maxFile = 1 << 20

// reloadInterval is how often the file is read again.
const reloadInterval = 2 * time.Second

// NotReloaded is the event in the log when WebConfig.Reload fails for a section of the
// configuration, http or serve.
func NotReloaded(section string) string {
	return section + ".web_config not reloaded: the old one stays in force"
}

// WebConfig is a checked copy of an exporter-toolkit file. The toolkit reads its file at
// each request and each handshake, and without a password in it everybody may enter: a
// file that is just being written, or that was damaged, must not take the password off.
// A nil WebConfig is plain http without passwords. Safe for concurrent use.
type WebConfig struct {
	path string   // of the operator's file
	copy *os.File // in memory

	mu      sync.Mutex // guards what follows
	content []byte     // of the file, when it was last looked at
	parsed  toolkit.Config
}

// OpenWebConfig reads an exporter-toolkit file, and checks it and the files that it names.
// The path "" means no file. Its errors quote nothing from the file, which may hold a
// password in the wrong place.
func OpenWebConfig(path string) (*WebConfig, error) {
	if path == "" {
		return nil, nil
	}
	content, err := readPart(path)
	if err != nil {
		return nil, err
	}
	c := &WebConfig{path: path, content: content}
	c.copy, c.parsed, err = checkedCopy(path, content)
	return c, err
}

// Close closes the copy.
func (c *WebConfig) Close() error {
	if c == nil {
		return nil
	}
	return c.copy.Close()
}

// CheckFiles is nil when this user can read the files that the configuration names: they
// are read again at each handshake.
func (c *WebConfig) CheckFiles() error {
	if c == nil {
		return nil
	}
	_, err := withAbsolutePaths(c.content, filepath.Dir(c.path))
	return err
}

// Certificate is the one that clients see, nil for plain http. c may be nil.
func (c *WebConfig) Certificate() (*x509.Certificate, error) {
	if c == nil {
		return nil, nil
	}
	absolute, err := withAbsolutePaths(c.content, filepath.Dir(c.path))
	if err != nil {
		return nil, err
	}
	var file webConfigForm
	if yaml.Unmarshal(absolute, &file) != nil {
		return nil, errWebConfig
	}
	text, _ := file.TLS["cert"].(string)
	chain := []byte(text)
	if path, _ := file.TLS["cert_file"].(string); path != "" {
		if chain, err = readPart(path); err != nil {
			return nil, err
		}
	}
	block, _ := pem.Decode(chain)
	if block == nil {
		return nil, nil
	}
	return x509.ParseCertificate(block.Bytes)
}

// copyPath is the path by which the toolkit reads the copy. It stays the same.
func (c *WebConfig) copyPath() string { return descriptorPath(c.copy) }

func descriptorPath(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// unlessBare leaves the toolkit's handler out while the file says nothing but TLS: it reads
// and parses the file at each request, which takes longer than most answers.
func (c *WebConfig) unlessBare(direct, toolkits http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.isBare() {
			direct.ServeHTTP(w, r)
			return
		}
		toolkits.ServeHTTP(w, r)
	})
}

func (c *WebConfig) isBare() bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.parsed.Users) == 0 && len(c.parsed.HTTPConfig.Header) == 0 && c.parsed.RateLimiterConfig.Interval == 0
}

// HasUsers is true when the file asks clients for a password.
func (c *WebConfig) HasUsers() bool { return c != nil && len(c.parsed.Users) > 0 }

// readPart reads a file. Its error does not name the file.
func readPart(path string) ([]byte, error) {
	content, _, err := fsops.ReadRegular(path, maxFile)
	if named, ok := errors.AsType[*fs.PathError](err); ok {
		err = named.Err
	}
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: the owner of data_dir must be able to read it", err)
	}
	return content, err
}

// watch follows changes of the file until ctx ends.
func (c *WebConfig) watch(ctx context.Context, section string, log *slog.Logger) {
	ticks := time.NewTicker(reloadInterval)
	defer ticks.Stop()
	reported := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		problem := ""
		if err := c.Reload(); err != nil {
			problem = err.Error()
		}
		if problem != "" && problem != reported {
			log.Error(NotReloaded(section), "error", problem)
		}
		reported = problem
	}
}

// Reload puts a changed file in force. After an error the old one stays in force.
func (c *WebConfig) Reload() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	content, err := readPart(c.path)
	if err != nil {
		return err
	}
	if bytes.Equal(content, c.content) {
		return nil
	}
	changed, parsed, err := checkedCopy(c.path, content)
	if err != nil {
		return err
	}
	defer changed.Close()
	switch {
	case len(parsed.Users) == 0 && len(c.parsed.Users) > 0:
		return errors.New("it has no basic_auth_users any more: restart syncd if it shall serve without passwords")
	case !reflect.DeepEqual(parsed.TLSConfig, c.parsed.TLSConfig):
		return errors.New("its tls_server_config changed: restart syncd to put it in force")
	}
	if err := unix.Dup3(int(changed.Fd()), int(c.copy.Fd()), unix.O_CLOEXEC); err != nil { // replaces the copy in one step
		return err
	}
	c.content, c.parsed = content, parsed
	return nil
}

// errWebConfig quotes nothing from the file.
var errWebConfig = errors.New("is not a web configuration file of the Prometheus exporter-toolkit")

// checkedCopy returns a copy in memory that the toolkit accepts. It has absolute paths,
// because relative ones start at the folder of the file.
func checkedCopy(path string, content []byte) (copied *os.File, parsed toolkit.Config, err error) {
	if err := yaml.UnmarshalStrict(content, &parsed); err != nil {
		return nil, parsed, errWebConfig
	}
	absolute, err := withAbsolutePaths(content, filepath.Dir(path))
	if err != nil {
		return nil, parsed, err
	}
	copied, err = inMemory(absolute)
	if err != nil {
		return nil, parsed, fmt.Errorf("make a copy in memory: %w", err)
	}
	if err := toolkit.Validate(descriptorPath(copied)); err != nil {
		copied.Close()
		return nil, parsed, withoutQuotes(err)
	}
	return copied, parsed, nil
}

// withoutQuotes returns an error of the toolkit if it quotes nothing from the file.
func withoutQuotes(err error) error {
	for _, harmless := range []string{"failed to load X509KeyPair: tls: ", "missing one of ", "client CA's have been configured "} {
		if strings.HasPrefix(err.Error(), harmless) {
			return err
		}
	}
	if strings.HasPrefix(err.Error(), "crypto/bcrypt: ") {
		return errors.New("a password in basic_auth_users is not a bcrypt hash")
	}
	return errWebConfig
}

// webConfigForm is the form of an exporter-toolkit file, as far as a copy needs it.
type webConfigForm struct {
	TLS   map[string]any    `yaml:"tls_server_config,omitempty"`
	HTTP  any               `yaml:"http_server_config,omitempty"`
	Rate  any               `yaml:"rate_limit,omitempty"`
	Users map[string]string `yaml:"basic_auth_users,omitempty"`
}

// withAbsolutePaths rewrites the paths of a file, each of which must be a regular file.
func withAbsolutePaths(content []byte, dir string) ([]byte, error) {
	var file webConfigForm
	if yaml.Unmarshal(content, &file) != nil {
		return nil, errWebConfig
	}
	for _, key := range []string{"cert_file", "key_file", "client_ca_file"} {
		path, _ := file.TLS[key].(string)
		if path == "" {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if _, err := readPart(path); err != nil {
			return nil, fmt.Errorf("tls_server_config.%s: %w", key, err)
		}
		file.TLS[key] = path
	}
	return yaml.Marshal(file)
}

// inMemory returns a file in memory with a content.
func inMemory(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("web_config", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // Linux before 6.3
		fd, err = unix.MemfdCreate("web_config", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "web_config")
	if _, err := file.Write(content); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
