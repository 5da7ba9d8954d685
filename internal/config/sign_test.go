package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func loadText(t *testing.T, text string, environ map[string]string) (*Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "syncd.yaml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return Load(path, Environment{Getenv: func(name string) string { return environ[name] }})
}

func TestSignNeedsAKeyAndATrustText(t *testing.T) {
	for name, row := range map[string]struct{ sign, want string }{
		"without a trust": {"sign: {key_file: /k}", "sign.trust_file: is missing"},
		"too short":       {"sign: {key_file: /k, trust_file: /t, valid: 59s}", "sign.valid: is under a minute"},
		"all":             {"sign: {key_file: /k, trust_file: /t, valid: 1m}", ""},
		"days":            {"sign: {key_file: /k, trust_file: /t, valid: 7d}", ""},
		"nothing":         {"sign: {}", ""},
	} {
		_, err := loadText(t, minimal+row.sign+"\n", nil)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: got %v, want %q", name, err, row.want)
		}
	}
}

// A shell does not have the credential that the unit loads.
func TestAKeyThatIsMissingIsToldWhenSomethingIsToBeSigned(t *testing.T) {
	c, err := loadText(t, minimal+"sign: {trust_file: /t}\n", nil)
	must(t, err)
	if _, err = c.Signer(); err == nil || !strings.Contains(err.Error(), "sign.trust_file: needs a key") {
		t.Errorf("%v", err)
	}
}

func TestTheSigningKeyMayBeACredential(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "signing_key"), []byte("x"), 0o600))
	c, err := loadText(t, minimal+"sign: {trust_file: /t}\n", map[string]string{directoryName: dir})
	must(t, err)
	if want := filepath.Join(dir, "signing_key"); c.Sign.KeyFile != want || c.Sign.Valid != 48*time.Hour {
		t.Errorf("%+v, want the key %s", c.Sign, want)
	}
	_, err = c.Signer()
	if err == nil || !strings.Contains(err.Error(), "sign.trust_file: /t cannot be read") {
		t.Errorf("%v", err)
	}
}

func TestATrustFileThatOthersCanChangeIsWarnedAbout(t *testing.T) {
	dir := t.TempDir()
	path, file := filepath.Join(dir, "syncd.yaml"), filepath.Join(dir, "trust")
	text := strings.Replace(minimal, "data_dir", "  trust_file: trust\ndata_dir", 1) + "sign: {trust_file: trust}\n"
	for mode, want := range map[fs.FileMode]int{0o644: 0, 0o600: 0, 0o664: 2, 0o646: 2} {
		must(t, errors.Join(os.WriteFile(path, []byte(text), 0o600), os.WriteFile(file, nil, 0o600), os.Chmod(file, mode)))
		c, err := Load(path, Environment{})
		must(t, err)
		got := c.Warnings()
		if len(got) != want || want > 0 && (!strings.Contains(got[0], "source.trust_file: names a file that its group or others can change") || !strings.Contains(got[1], "sign.trust_file: ")) {
			t.Errorf("mode %o: %q", mode, got)
		}
	}
}
