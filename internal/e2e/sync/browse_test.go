package sync_test

import (
	"os"
	"strings"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

func TestBrowsingCommandsListTheProvider(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	e2e.Same(h, "releases", "2026.08\n2026.09\n2026.10\n", h.Expect(0, "releases", "dq_phone_data").Stdout)
	for _, args := range [][]string{{"manifests"}, {"manifests", "2026.10"}, {"manifests", "LATEST"}} {
		h.Contains("manifests", h.Expect(0, args...).Stdout, "dq_addr_data", "dq_addr_bins", "dq_phone_data", "The files of")
	}
	files := h.Expect(0, "files", "dq_addr_bins").Stdout
	h.Contains("files", files, "Library/LINUX/GCC48/64BIT/2026.10/libmdAddr.so\n", "Interface/ANY/PYTHON/ANY/2026.10/mdAddr_pythoncode.py\n")
	h.Contains("files", h.Expect(0, "files", "dq_addr_data", "2026-08").Stdout, "Data/2026.08/ews.txt\n")
	for _, args := range [][]string{{"releases", "nope"}, {"files", "nope"}, {"files", "dq_addr_data", "1999.01"}} {
		h.Contains("stderr", h.Expect(1, args...).Stderr, "404")
	}
	h.WantDownloads()
}

func TestGetDownloadsAFileOfEachClass(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "m")
	file := emulator.File{Name: "f.bin", Content: emulator.Random(1, 100_000)}
	library, wrapper, product := file, file, file
	library.Class, library.OS, library.Compiler, library.Architecture = emulator.ClassLibrary, "LINUX", "GCC48", "64BIT"
	wrapper.Class, wrapper.OS, wrapper.Language, wrapper.Architecture = emulator.ClassInterface, "ANY", "JAVA", "ANY"
	product.Class = emulator.ClassProduct
	library.Content, wrapper.Content, product.Content = emulator.Random(2, 1000), emulator.Random(3, 1000), emulator.Text("")
	h.Provider.SetManifest("m", "2026.10", file, library, wrapper, product)

	for path, content := range map[string]emulator.Content{
		"Data/2026.10/f.bin":                      file.Content,
		"Library/LINUX/GCC48/64BIT/2026.10/f.bin": library.Content,
		"interface/ANY/JAVA/ANY/2026.10/f.bin":    wrapper.Content,
		"/Product/2026.10/f.bin":                  product.Content,
	} {
		out := h.Expect(0, "get", path, "--force").Stdout
		reader, err := content.Open()
		h.Must(err)
		want := h.Digest(reader)
		e2e.Same(h, path, want, h.DigestOf(h.Path("f.bin")))
		h.Contains("get", out, "f.bin", "sha256:"+want)
	}
	e2e.Same(h, "files", []string{"f.bin", "id", "syncd.yaml"}, e2e.NamesIn(h, h.Dir))
}

func TestGetWithAWrongHashLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Must(os.Mkdir(h.Path("out"), 0o755))
	for name, fault := range map[string]emulator.Fault{
		"does not match": {Kind: emulator.KindCorrupt, Host: emulator.HostDownload},
		"not a SHA256":   {Kind: emulator.KindBody, Body: "invalid", Path: "/SHA256/*"},
		"404":            {Kind: emulator.KindStatus, Status: 404, Host: emulator.HostDownload},
	} {
		h.Provider.AddFault(fault)
		h.Contains(name, h.Expect(1, "get", "Data/2026.10/ews.txt", "-o", "out").Stderr, name)
		e2e.Same(h, "files", []string{}, e2e.NamesIn(h, h.Path("out")))
		h.Provider.ClearFaults()
	}
}

func TestGetRefusesPathTricksAsUsageErrors(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	for _, path := range []string{
		"ews.txt", "Data/ews.txt", "Data/2026.10", "Data/2026.10/..", "Data/2026.10/.", "Data/../2026.10/ews.txt",
		"Data/2026.10/a/b", "Nope/2026.10/ews.txt", `Data/2026.10/..\x`, "Data/2026.10/a\nb", "Data/2026.10/" + strings.Repeat("x", 256),
		"Library/LINUX/2026.10/x", "", "Data//ews.txt", "Data/2026.10/\xff",
	} {
		if r := h.Syncd("get", path); r.Code != 2 {
			t.Errorf("get %q: exit %d, want 2: %s", path, r.Code, r.Stderr)
		}
	}
	e2e.Same(h, "requests", 0, len(h.Provider.Requests()))
	e2e.Same(h, "files", []string{"id", "syncd.yaml"}, e2e.NamesIn(h, h.Dir))
}
