package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/emulator"
)

func TestBrowsingCommandsListTheProvider(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	same(h, "releases", "2026.08\n2026.09\n2026.10\n", h.expect(0, "releases", "dq_phone_data").stdout)
	for _, args := range [][]string{{"manifests"}, {"manifests", "2026.10"}, {"manifests", "LATEST"}} {
		h.contains("manifests", h.expect(0, args...).stdout, "dq_addr_data", "dq_addr_bins", "dq_phone_data", "The files of")
	}
	files := h.expect(0, "files", "dq_addr_bins").stdout
	h.contains("files", files, "Library/LINUX/GCC48/64BIT/2026.10/libmdAddr.so\n", "Interface/ANY/PYTHON/ANY/2026.10/mdAddr_pythoncode.py\n")
	h.contains("files", h.expect(0, "files", "dq_addr_data", "2026-08").stdout, "Data/2026.08/ews.txt\n")
	for _, args := range [][]string{{"releases", "nope"}, {"files", "nope"}, {"files", "dq_addr_data", "1999.01"}} {
		h.contains("stderr", h.expect(1, args...).stderr, "404")
	}
	h.wantDownloads()
}

func TestGetDownloadsAFileOfEachClass(t *testing.T) {
	t.Parallel()
	h := newHost(t, "m")
	file := emulator.File{Name: "f.bin", Content: emulator.Random(1, 100_000)}
	library, wrapper, product := file, file, file
	library.Class, library.OS, library.Compiler, library.Architecture = emulator.ClassLibrary, "LINUX", "GCC48", "64BIT"
	wrapper.Class, wrapper.OS, wrapper.Language, wrapper.Architecture = emulator.ClassInterface, "ANY", "JAVA", "ANY"
	product.Class = emulator.ClassProduct
	library.Content, wrapper.Content, product.Content = emulator.Random(2, 1000), emulator.Random(3, 1000), emulator.Text("")
	h.provider.SetManifest("m", "2026.10", file, library, wrapper, product)

	for path, content := range map[string]emulator.Content{
		"Data/2026.10/f.bin":                      file.Content,
		"Library/LINUX/GCC48/64BIT/2026.10/f.bin": library.Content,
		"interface/ANY/JAVA/ANY/2026.10/f.bin":    wrapper.Content,
		"/Product/2026.10/f.bin":                  product.Content,
	} {
		out := h.expect(0, "get", path, "--force").stdout
		reader, err := content.Open()
		h.must(err)
		want := h.digest(reader)
		same(h, path, want, h.digestOf(h.path("f.bin")))
		h.contains("get", out, "f.bin", "sha256:"+want)
	}
	same(h, "files", []string{"f.bin", "id", "syncd.yaml"}, namesIn(h, h.dir))
}

func TestGetWithAWrongHashLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.must(os.Mkdir(h.path("out"), 0o755))
	for name, fault := range map[string]emulator.Fault{
		"does not match": {Kind: emulator.KindCorrupt, Host: emulator.HostDownload},
		"not a SHA256":   {Kind: emulator.KindBody, Body: "invalid", Path: "/SHA256/*"},
		"404":            {Kind: emulator.KindStatus, Status: 404, Host: emulator.HostDownload},
	} {
		h.provider.AddFault(fault)
		h.contains(name, h.expect(1, "get", "Data/2026.10/ews.txt", "-o", "out").stderr, name)
		same(h, "files", []string{}, namesIn(h, h.path("out")))
		h.provider.ClearFaults()
	}
}

func TestGetRefusesPathTricksAsUsageErrors(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, path := range []string{
		"ews.txt", "Data/ews.txt", "Data/2026.10", "Data/2026.10/..", "Data/2026.10/.", "Data/../2026.10/ews.txt",
		"Data/2026.10/a/b", "Nope/2026.10/ews.txt", `Data/2026.10/..\x`, "Data/2026.10/a\nb", "Data/2026.10/" + strings.Repeat("x", 256),
		"Library/LINUX/2026.10/x", "", "Data//ews.txt", "Data/2026.10/\xff",
	} {
		if r := h.syncd("get", path); r.code != 2 {
			t.Errorf("get %q: exit %d, want 2: %s", path, r.code, r.stderr)
		}
	}
	same(h, "requests", 0, len(h.provider.Requests()))
	same(h, "files", []string{"id", "syncd.yaml"}, namesIn(h, h.dir))
}

func namesIn(h *host, dir string) []string {
	h.Helper()
	entries, err := os.ReadDir(filepath.Clean(dir))
	h.must(err)
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
