package main

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"slices"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func TestEveryModuleOfTheProgramIsListed(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	output := filepath.Join(t.TempDir(), "bom.json")
	if err := run([]string{program, "1.2.3", output}); err != nil {
		t.Fatal(err)
	}
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
