package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func listed(t *testing.T) (program, list string) {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	list = filepath.Join(t.TempDir(), "of", "bom.json")
	must(t, run([]string{program, "1.2.3", list}))
	return program, list
}

func TestEveryModuleOfTheProgramIsListed(t *testing.T) {
	program, output := listed(t)
	in, err := os.Open(output)
	must(t, err)
	defer in.Close()
	var bom cdx.BOM
	must(t, cdx.NewBOMDecoder(in, cdx.BOMFileFormatJSON).Decode(&bom))
	if bom.Metadata.Component.Version != "1.2.3" || bom.SerialNumber != "" || bom.Metadata.Timestamp != "" {
		t.Errorf("metadata %+v, serial number %q", bom.Metadata, bom.SerialNumber)
	}
	content, err := os.ReadFile(program)
	must(t, err)
	if got, want := (*bom.Metadata.Component.Hashes)[0].Value, fmt.Sprintf("%x", sha256.Sum256(content)); got != want {
		t.Errorf("the program has the digest %s, want %s", got, want)
	}
	info, err := buildinfo.ReadFile(program)
	must(t, err)
	if len(info.Deps) == 0 {
		t.Fatal("this test contains no modules")
	}
	for _, module := range info.Deps {
		same := func(c cdx.Component) bool {
			return c.PackageURL == "pkg:golang/"+module.Path+"@"+module.Version
		}
		if !slices.ContainsFunc(*bom.Components, same) {
			t.Errorf("%s %s is not listed", module.Path, module.Version)
		}
	}
}

// TestTheListIsValid compares the list with the schema of its version of CycloneDX.
func TestTheListIsValid(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	must(t, err)
	folder := filepath.Join(strings.TrimSpace(string(out)), "schema")
	compiler := jsonschema.NewCompiler()
	for id, file := range map[string]string{
		"http://cyclonedx.org/schema/spdx.schema.json":     "spdx.schema.json",
		"http://cyclonedx.org/schema/jsf-0.82.schema.json": "jsf-0.82.schemax.json",
		"list": "bom-" + spec.String() + ".schema.json",
	} {
		must(t, compiler.AddResource(id, readJSON(t, filepath.Join(folder, file))))
	}
	schema, err := compiler.Compile("list")
	must(t, err)
	_, path := listed(t)
	list := readJSON(t, path)
	must(t, schema.Validate(list))
	delete(list.(map[string]any), "bomFormat")
	if schema.Validate(list) == nil {
		t.Error("the schema also accepts a list without its format")
	}
}

func readJSON(t *testing.T, path string) any {
	t.Helper()
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	value, err := jsonschema.UnmarshalJSON(file)
	must(t, err)
	return value
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
