package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"syncd/internal/emulator"
)

// CustomerID needs escaping in a query. No test may leave it in output or on disk:
// see Host.CheckSecret.
const CustomerID = "K3Y/with+special=&%chars"

// secretForms are the spellings of the Customer ID, none of which may appear.
var secretForms = sync.OnceValue(func() []string {
	quoted, _ := json.Marshal(CustomerID)
	forms := []string{CustomerID, url.QueryEscape(CustomerID), url.PathEscape(CustomerID), url.QueryEscape(url.QueryEscape(CustomerID)), strings.Trim(string(quoted), `"`)}
	for _, f := range slices.Clone(forms) {
		forms = append(forms, strings.ToLower(f), strings.ToUpper(f))
	}
	basic := []byte("user:" + CustomerID)
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		forms = append(forms, encoding.EncodeToString([]byte(CustomerID)), encoding.EncodeToString(basic)[8:28])
	}
	return forms
})

// SecretFree requires that a text holds no spelling of the Customer ID.
func (h *Host) SecretFree(where, text string) {
	h.Helper()
	for _, form := range secretForms() {
		if strings.Contains(text, form) {
			h.Errorf("%s holds the Customer ID as %q:\n%s", where, form, text)
			return
		}
	}
}

// CheckSecret looks for the Customer ID in the files of a host, and in its requests
// to other hosts than the configured one.
func (h *Host) CheckSecret() {
	seen := map[uint64]bool{} // inodes: an object has many names
	_ = filepath.WalkDir(h.Data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil // not there, or not a file
		}
		h.SecretFree("a file's name", path)
		info, err := entry.Info()
		if err != nil || info.Size() > 1<<20 && !strings.Contains(path, "/state/") {
			return nil // the provider's random bytes
		}
		inode := info.Sys().(*syscall.Stat_t).Ino
		if seen[inode] {
			return nil
		}
		seen[inode] = true
		if data, err := os.ReadFile(path); err == nil {
			h.SecretFree(path, string(data))
		}
		return nil
	})
	for _, r := range h.Provider.Requests() {
		text := fmt.Sprint(r.Path, "?", r.RawQuery, r.Header)
		if r.Host == emulator.HostDownload {
			h.SecretFree("request to the download host", text)
		}
		if r.Header.Get("Referer") != "" {
			h.Errorf("request with a Referer: %s", text)
		}
	}
}
