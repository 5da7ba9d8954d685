package record

import (
	"bytes"
	"path/filepath"
	"testing"
)

func FuzzDecodeView(f *testing.F) {
	f.Add([]byte(`{"view": "v", "fingerprint": "abc", "files": [{"path": "a/b", "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}]}`))
	f.Add([]byte(`{"view": "v", "fingerprint": "..", "files": [{"path": "../b"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := ParseView("v", bytes.NewReader(text))
		if err == nil && !filepath.IsLocal(v.Dir()) {
			t.Errorf("%q", v.Dir())
		}
		for _, file := range v.Files {
			if err == nil && !filepath.IsLocal(file.Path) {
				t.Errorf("%q", file.Path)
			}
		}
	})
}
