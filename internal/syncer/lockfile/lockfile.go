package lockfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// version of the form of the file.
const version = 1

// File is the content of a lock file.
type File struct {
	Source    string // base URL without query and user part
	Manifests []record.Record
}

// head is the text of a manifest but for its files.
type head struct {
	Name     string           `json:"name"`
	Release  manifest.Release `json:"release"`
	Revision string           `json:"revision"`
	Listed   int              `json:"listed"` // files in the provider's list, before filters
	Files    []record.File    `json:"files"`  // sorted by path
}

// Write writes the lock file of the given manifests.
func Write(w io.Writer, source string, manifests []record.Record) error {
	to := bufio.NewWriter(w)
	_, _ = fmt.Fprintf(to, "{\n \"syncd_lock\": %d,\n \"source\": %s,\n \"manifests\": [", version, quoted(source)) // Flush returns the first error
	for i, r := range manifests {
		if i > 0 {
			_ = to.WriteByte(',')
		}
		_, _ = to.WriteString("\n  ")
		if err := record.InLockfile.Write(to, head{r.Manifest, r.Release, r.Revision, r.Listed, []record.File{}}, r.Files); err != nil {
			return err
		}
	}
	_, _ = to.WriteString("\n ]\n}\n")
	return to.Flush()
}

func quoted(s string) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // never fails for a string
	return strings.TrimSpace(text.String())
}

// maxSize bounds a lock file. One of 1,000,000 files has less.
const maxSize = 512 << 20

// Read returns the text of a lock file, which may come from a pipe.
func Read(path string) ([]byte, error) { return read(path, maxSize) }

func read(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s is larger than %d MiB: check which file it is", path, limit>>20)
	}
	return text, err
}

// Parse reads what Write writes. It refuses paths and references that no manifest can
// have, and files that do not make up the named revision.
func Parse(data []byte) (*File, error) {
	var text struct {
		Version   int    `json:"syncd_lock"`
		Source    string `json:"source"`
		Manifests []head `json:"manifests"`
	}
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&text); err != nil {
		return nil, fmt.Errorf("not a lock file: %w", err)
	}
	if text.Version != version {
		return nil, fmt.Errorf("not a lock file of version %d: `syncd lock` writes one", version)
	}
	l := &File{Source: text.Source}
	for _, h := range text.Manifests {
		r, err := h.record()
		if err != nil {
			return nil, fmt.Errorf("lock file: manifest %q: %w", h.Name, err)
		}
		if _, named := l.Manifest(h.Name); named {
			return nil, fmt.Errorf("lock file: manifest %q: named twice", h.Name)
		}
		l.Manifests = append(l.Manifests, r)
	}
	return l, nil
}

func (h head) record() (r record.Record, err error) {
	if err := manifest.CheckSegment(h.Name); err != nil {
		return r, err
	}
	if _, err := manifest.ParseRelease(string(h.Release)); err != nil {
		return r, err
	}
	r = record.Record{Manifest: h.Name, Release: h.Release, Revision: h.Revision, Listed: h.Listed, Files: h.Files}
	r.Bytes, err = r.CheckRevision()
	return r, err
}

// Manifest returns the manifest with a name.
func (l *File) Manifest(name string) (record.Record, bool) {
	i := slices.IndexFunc(l.Manifests, func(r record.Record) bool { return r.Manifest == name })
	if i < 0 {
		return record.Record{}, false
	}
	return l.Manifests[i], true
}

// PlannedFiles are the files of a manifest with their expected digests.
func PlannedFiles(r record.Record) []manifest.File {
	files := make([]manifest.File, len(r.Files))
	for i, f := range r.Files {
		files[i] = manifest.File{Reference: f.Reference, Path: f.Path, Expected: f.Object.Digest()}
	}
	return files
}
