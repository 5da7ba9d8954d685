package provider

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// writeRelease writes the release service as a tree of static files.
func writeRelease(root, url string, sizes []int64) ([]File, error) {
	var files []File
	var links []string
	for i, size := range sizes {
		f := File{NameOf(i), size}
		if err := writeFile(root, f, i); err != nil {
			return nil, err
		}
		files = append(files, f)
		links = append(links, fmt.Sprintf("%s/Download/Data/%s/%s/?ID=%s", url, Release, f.Name, CustomerID))
	}
	if err := writeJSON(filepath.Join(root, "ManifestReleases", Manifest), []string{Release}); err != nil {
		return nil, err
	}
	return files, writeJSON(filepath.Join(root, "Manifest", Release, Manifest), links)
}

// writeFile writes a file with its digest and metadata.
func writeFile(root string, f File, number int) error {
	path := filepath.Join(root, "files/Data", Release, f.Name)
	if err := writeContent(path, number, f.Size); err != nil {
		return err
	}
	content, err := os.Open(path)
	if err != nil {
		return err
	}
	defer content.Close()
	hash := sha256.New()
	if _, err := io.CopyBuffer(hash, struct{ io.Reader }{content}, make([]byte, MiB)); err != nil {
		return err
	}
	sum := fmt.Sprintf("%x", hash.Sum(nil))
	if err := write(filepath.Join(root, "SHA256/Data", Release, f.Name), []byte(sum)); err != nil {
		return err
	}
	return writeJSON(filepath.Join(root, "Metadata/Data", Release, f.Name), map[string]string{
		"FileName": f.Name, "Release": Release, "FileSize": fmt.Sprint(f.Size), "SHA256": sum,
	})
}

func writeJSON(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return write(path, text)
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
