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
	"github.com/xeipuuv/gojsonschema"
)

// listed returns this program and the path of its list.
func listed(t *testing.T) (program, list string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	list = filepath.Join(t.TempDir(), "of", "bom.json")
	if err := run([]string{program, "1.2.3", list}); err != nil {
		t.Fatal(err)
	}
	return program, list
}

func TestEveryModuleOfTheProgramIsListed(t *testing.T) {
	program, output := listed(t)
	in, err := os.Open(output)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(in, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if bom.Metadata.Component.Version != "1.2.3" || bom.SerialNumber != "" || bom.Metadata.Timestamp != "" {
		t.Errorf("metadata %+v, serial number %q", bom.Metadata, bom.SerialNumber)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := (*bom.Metadata.Component.Hashes)[0].Value, fmt.Sprintf("%x", sha256.Sum256(content)); got != want {
		t.Errorf("the program has the digest %s, want %s", got, want)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	folder := "file://" + filepath.Join(strings.TrimSpace(string(out)), "schema")
	loader := gojsonschema.NewSchemaLoader()
	for id, file := range map[string]string{
		"http://cyclonedx.org/schema/spdx.schema.json":     "spdx.schema.json",
		"http://cyclonedx.org/schema/jsf-0.82.schema.json": "jsf-0.82.schemax.json",
	} {
		if err := loader.AddSchema(id, gojsonschema.NewReferenceLoader(folder+"/"+file)); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := loader.Compile(gojsonschema.NewReferenceLoader(folder + "/bom-" + spec.String() + ".schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, list := listed(t)
	result, err := schema.Validate(gojsonschema.NewReferenceLoader("file://" + list))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range result.Errors() {
		t.Error(e)
	}
}
