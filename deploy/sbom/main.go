// Command sbom lists the modules that a Go program contains, in CycloneDX's JSON. It reads
// them from the program itself, and names the program by its digest.
//
//	go run ./deploy/sbom PROGRAM VERSION OUTPUT
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// spec is the newest version that common scanners read.
const spec = cdx.SpecVersion1_6

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: sbom PROGRAM VERSION OUTPUT")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	program, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	bom := describe(info, args[1])
	bom.Metadata.Component.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sha256.Sum256(program))}}
	if err := os.MkdirAll(filepath.Dir(args[2]), 0o755); err != nil {
		return err
	}
	out, err := os.Create(args[2])
	if err != nil {
		return err
	}
	if err := cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, spec); err != nil {
		_ = out.Close() // the first error counts
		return err
	}
	return out.Close()
}

// describe has neither a time nor a serial number, so that the same program gives the same
// bytes.
func describe(info *buildinfo.BuildInfo, version string) *cdx.BOM {
	program := component(info.Main.Path, version)
	program.Type = cdx.ComponentTypeApplication
	parts := []cdx.Component{component("std", info.GoVersion)}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		parts = append(parts, component(module.Path, module.Version))
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &program}
	bom.Components = &parts
	return bom
}

func component(path, version string) cdx.Component {
	url := "pkg:golang/" + path + "@" + version
	return cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url}
}
