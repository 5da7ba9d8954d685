package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"syncd/internal/config/document"
)

const marker = "Zq7X-S3cret-9Kw"

func TestSecretNeverPrints(t *testing.T) {
	secret := Secret(marker)
	credential := FixedCredential(secret)
	hidden := struct{ c Credential }{credential} // fmt calls no methods here
	c := mustLoad(t, strings.Replace(minimal, "data_dir", "  customer_id: "+marker+"\ndata_dir", 1))
	shows := func(how, text string) {
		for _, form := range []string{marker, fmt.Sprintf("%x", marker), fmt.Sprintf("%X", marker), marker[:3]} {
			if strings.Contains(text, form) {
				t.Errorf("%s shows it as %s", how, form)
			}
		}
	}
	values := []any{secret, &secret, credential, &credential, hidden, []Secret{secret}, map[string]Secret{"a": secret}, struct{ S Secret }{secret}, c, *c, c.Source}
	for i, value := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10.3s"} {
			shows(fmt.Sprintf("%s of value %d", verb, i), fmt.Sprintf(verb, value))
		}
		for name, marshal := range map[string]func(any) ([]byte, error){"json": json.Marshal, "yaml": yaml.Marshal} {
			if text, err := marshal(value); err == nil { // some values cannot be encoded
				shows(fmt.Sprintf("%s of value %d", name, i), string(text))
			}
		}
	}
	if id, err := c.Source.Credential.Read(); err != nil || id.Reveal() != marker || secret.String() != redacted {
		t.Error(err)
	}
}

func TestCustomerIDIsReadAsWritten(t *testing.T) {
	for _, text := range []string{"12345", "0042", "1e50", "0x10", "0b11", "1_000", "1.50", "+700", ".inf", "true", "False", "null", "~abc", "2026-10-01", "a*n==", "a#bc"} {
		t.Run(text, func(t *testing.T) {
			c := mustLoad(t, strings.Replace(minimal, "data_dir", "  customer_id: "+text+"  # the id\ndata_dir", 1))
			if id, err := c.Source.Credential.Read(); err != nil || id.Reveal() != text {
				t.Error(err, id.Reveal())
			}
		})
	}
	c := mustLoad(t, strings.Replace(minimal, "data_dir", "  customer_id: |\n    block\ndata_dir", 1))
	if id, err := c.Source.Credential.Read(); err != nil || id.Reveal() != "block" {
		t.Error(err, id.Reveal())
	}
}

// givenBy loads a file with an environment and a credential directory.
func givenBy(t *testing.T, inFile, variable string, files map[string]string) Credential {
	t.Helper()
	return givenBeside(t, inFile, map[string]string{variableName: variable}, files).Source.Credential
}

// givenBeside is givenBy with more variables. It returns the whole configuration.
func givenBeside(t *testing.T, inFile string, env, files map[string]string) *Config {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	path := filepath.Join(dir, "syncd.yaml")
	must(t, os.WriteFile(path, []byte(strings.Replace(minimal, "data_dir", inFile+"data_dir", 1)), 0o600))
	env[directoryName] = dir
	c, err := Load(path, Environment{Getenv: func(name string) string { return env[name] }})
	must(t, err)
	return c
}

func TestCredentialIsReadFromOneOfFourPlaces(t *testing.T) {
	const fromFile, fromKey = "  customer_id_file: id\n", "  customer_id: " + marker + "\n"
	tests := []struct {
		name, inFile, variable string
		files                  map[string]string
		want                   string // the id, or the error without its directory
	}{
		{"key", fromKey, "", nil, marker},
		{"file", fromFile, "", map[string]string{"id": "\n " + marker + "\r\n"}, marker},
		{"variable", "", " " + marker + "\n", nil, marker},
		{"systemd", "", "", map[string]string{"customer_id": marker}, marker},
		{"none", "", "", nil, "syncd.yaml: source: no Customer ID is configured; set just one of customer_id or customer_id_file in the config file, $SYNCD_CUSTOMER_ID, or the systemd credential customer_id ($CREDENTIALS_DIRECTORY/customer_id)"},
		{"key and variable", fromKey, marker, nil, "syncd.yaml: source: the Customer ID is set more than once: customer_id and $SYNCD_CUSTOMER_ID; keep just one"},
		{"file and systemd", fromFile, "", map[string]string{"id": marker, "customer_id": marker}, "syncd.yaml: source: the Customer ID is set more than once: customer_id_file and $CREDENTIALS_DIRECTORY/customer_id; keep just one"},
		{"variable and systemd", "", marker, map[string]string{"customer_id": marker}, "syncd.yaml: source: the Customer ID is set more than once: $SYNCD_CUSTOMER_ID and $CREDENTIALS_DIRECTORY/customer_id; keep just one"},
		{"file absent", "  customer_id_file: " + marker + "\n", "", nil, "syncd.yaml:3:21: source.customer_id_file: cannot be read: no such file or directory; check that the file is there and that syncd's user may read it"},
		{"file empty", fromFile, "", map[string]string{"id": " \n"}, "syncd.yaml:3:21: source.customer_id_file: is empty; write the Customer ID there"},
		{"file of two lines", fromFile, "", map[string]string{"id": marker + "\n" + marker}, "syncd.yaml:3:21: source.customer_id_file: has more than one line; write the Customer ID alone, on one line"},
		{"file with control", fromFile, "", map[string]string{"id": marker + "\x00x"}, "syncd.yaml:3:21: source.customer_id_file: has control or invisible characters; write the Customer ID alone, on one line"},
		{"file not UTF-8", fromFile, "", map[string]string{"id": marker + "\xff"}, "syncd.yaml:3:21: source.customer_id_file: has control or invisible characters; write the Customer ID alone, on one line"},
		{"file too large", fromFile, "", map[string]string{"id": strings.Repeat(marker, 1<<14)}, "syncd.yaml:3:21: source.customer_id_file: is too large for a Customer ID; check which file it names"},
		{"variable blank", "", " ", nil, "$SYNCD_CUSTOMER_ID: is empty; write the Customer ID there"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id, err := givenBy(t, tt.inFile, tt.variable, tt.files).Read()
			got := id.Reveal()
			if problem, ok := errors.AsType[*document.Error](err); ok {
				copied := *problem
				copied.File = filepath.Base(copied.File)
				if problem.File == "" {
					copied.File = ""
				}
				got = copied.Error()
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), marker) {
				t.Error("the error shows the id")
			}
		})
	}
	if _, err := givenBy(t, "  customer_id_file: gone\n", "", nil).Read(); !errors.Is(err, fs.ErrNotExist) {
		t.Error("not ErrNotExist:", err)
	}
	if _, err := (Credential{}).Read(); err == nil {
		t.Error("the zero credential reads")
	}
}

func TestTheUpdatersVariableCountsOnlyWhenNothingElseIsSet(t *testing.T) {
	const fromFile, note = "  customer_id_file: id\n", "the Customer ID comes from $MD_LICENSE, because nothing else sets one"
	tests := []struct {
		name, inFile string
		env, files   map[string]string
		want         string // the id, or the error
		notes        []string
	}{
		{"alone", "", map[string]string{updaterName: " " + marker + "\n"}, nil, marker, []string{note}},
		{"beside a key", "  customer_id: other\n", map[string]string{updaterName: marker}, nil, "other", nil},
		{"beside a file", fromFile, map[string]string{updaterName: marker}, map[string]string{"id": "other"}, "other", nil},
		{"beside a file that is not there", fromFile, map[string]string{updaterName: marker}, nil, "cannot be read: no such file or directory", nil},
		{"beside the variable", "", map[string]string{updaterName: marker, variableName: "other"}, nil, "other", nil},
		{"beside systemd", "", map[string]string{updaterName: marker}, map[string]string{"customer_id": "other"}, "other", nil},
		{"too short", "", map[string]string{updaterName: "K3Y"}, nil, "$MD_LICENSE: has fewer than 4 characters", []string{note}},
		{"empty", "", map[string]string{updaterName: ""}, nil, "no Customer ID is configured", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := givenBeside(t, tt.inFile, tt.env, tt.files)
			id, err := c.Source.Credential.Read()
			if err == nil && id.Reveal() != tt.want || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, %v, want %s", id.Reveal(), err, tt.want)
			}
			if diff := cmp.Diff(tt.notes, c.Notes()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCredentialFileIsReadAtEachCall(t *testing.T) {
	c := givenBy(t, "  customer_id_file: id\n", "", map[string]string{"id": "first"})
	path := c.file.text()
	for _, want := range []string{"first", "second"} {
		must(t, os.WriteFile(path, []byte(want), 0o600))
		if id, err := c.Read(); err != nil || id.Reveal() != want {
			t.Error(err, id.Reveal())
		}
	}
}

func TestServicesInheritTheCredential(t *testing.T) {
	c := mustLoad(t, strings.Replace(minimal, "data_dir", "  customer_id: general\ndata_dir", 1)+"services: {list: {url: 'https://h', customer_id: special}}\n")
	got := map[string]string{}
	for key, service := range c.Services.byKey() {
		id, err := service.Credential.Read()
		must(t, err)
		got[key] = id.Reveal()
	}
	want := map[string]string{"contribution": "general", "list": "special", "property": "general", "autocomplete": "general", "reversegeo": "general"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// leaks returns the errors and warnings for data, and whether they show the marker.
func leaks(data []byte) (string, bool) {
	c, err := parse("syncd.yaml", data, Environment{})
	var said strings.Builder
	if err != nil {
		fmt.Fprintf(&said, "%v\n%+v\n%#v\n", err, err, problems(err))
	} else {
		fmt.Fprintln(&said, c.Warnings())
	}
	return said.String(), strings.Contains(said.String(), marker)
}

// Insert a secret, in several forms, at many places of a file that has errors already: each
// form at each place with SYNCD_TORTURE=full, else one form at every third. FuzzLoad tries
// other files.
func TestErrorsNeverQuoteTheFile(t *testing.T) {
	broken := strings.NewReplacer("hash: md5", "hash: no", "jitter: 0", "jitter: soon", "2026-10", "2026-99").Replace(full)
	all := os.Getenv("SYNCD_TORTURE") == "full"
	for i, form := range []string{marker, "\n" + marker + ": ", "\"" + marker, " *" + marker + " ", "{" + marker + "}", "\n  - " + marker + "\n", "@" + marker, "[" + marker, "%" + marker + "#"} {
		for at := 0; at <= len(broken); at++ {
			if at%27 != 3*i && !all {
				continue
			}
			if said, leaked := leaks([]byte(broken[:at] + form + broken[at:])); leaked {
				t.Fatalf("%q at byte %d shows:\n%s", form, at, said)
			}
		}
	}
}

// Replace each value and each key by the secret.
func TestErrorsNeverQuoteAValueOrAKey(t *testing.T) {
	for _, text := range []string{full, minimal} {
		rows := strings.SplitAfter(text, "\n")
		for i, row := range rows {
			key, value, _ := strings.Cut(strings.TrimRight(row, "\n"), ":")
			indent := key[:len(key)-len(strings.TrimLeft(key, " -"))]
			for _, other := range []string{key + ": " + marker, indent + marker + ":" + value, key + ": [" + marker + ", {" + marker + ": 1}]", indent + marker} {
				rows[i] = other + "\n"
				if said, leaked := leaks([]byte(strings.Join(rows, ""))); leaked {
					t.Errorf("%q shows:\n%s", other, said)
				}
			}
			rows[i] = row
		}
	}
}

// FuzzLoad checks that no file makes Load panic, and that no error shows a secret at any
// place of the file.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(full), uint16(0))
	f.Add([]byte(minimal), uint16(9))
	f.Fuzz(func(t *testing.T, data []byte, at uint16) {
		if _, err := parse("syncd.yaml", data, Environment{}); err != nil && len(problems(err)) == 0 {
			t.Errorf("not a *document.Error: %T", err)
		}
		i := int(at) % (len(data) + 1)
		if said, leaked := leaks([]byte(string(data[:i]) + marker + string(data[i:]))); leaked {
			t.Errorf("shows the secret:\n%s", said)
		}
	})
}
