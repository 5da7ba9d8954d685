package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/emulator"
	"syncd/internal/manifest"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
)

// workload is one manifest to fetch.
type workload struct {
	name, what string
	sizes      []int64
	alone      bool // only syncd: this is about its memory
}

func workloads() []workload {
	return []workload{
		{name: "big", what: "7 files, 800 MiB, one of 500 MiB", sizes: repeat(1, 500*mib, repeat(6, 50*mib, nil))},
		{name: "typical", what: "60 files from 1 KiB to 128 MiB", sizes: spread(60, kib, 128*mib)},
		{name: "many", what: "3,000 files of 4 KiB", sizes: repeat(3000, 4*kib, nil)},
		{name: "huge", what: "one file of 4 GiB", sizes: []int64{4 * gib}, alone: true},
	}
}

func names() string {
	var list []string
	for _, w := range workloads() {
		list = append(list, w.name)
	}
	return strings.Join(list, ", ")
}

func repeat(n int, size int64, more []int64) []int64 {
	for range n {
		more = append(more, size)
	}
	return more
}

// spread returns n sizes from smallest to largest, each the same factor apart
// from the one before, in steps of whole files.
func spread(n int, smallest, largest int64) []int64 {
	sizes := make([]int64, n)
	doublings := 0
	for s := smallest; s < largest; s *= 2 {
		doublings++
	}
	for i := range sizes {
		sizes[i] = smallest << (i * doublings / (n - 1))
	}
	return sizes
}

const (
	customerID   = "BENCH-ID"
	manifestName = "bench"
	release      = "2026.10"
)

// served is a workload on the emulator.
type served struct {
	workload
	emulator *emulator.Emulator
	files    []servedFile
}

type servedFile struct{ name, url, sha256 string }

// serve starts the emulator and asks it for every digest once, so that no
// measured run waits for the server to compute one.
func serve(w workload) (*served, error) {
	e, err := emulator.Start(emulator.Config{CustomerID: customerID})
	if err != nil {
		return nil, err
	}
	s := &served{workload: w, emulator: e}
	var files []emulator.File
	for i, size := range w.sizes {
		name := fmt.Sprintf("file%05d.dat", i)
		files = append(files, emulator.File{Class: string(manifest.Data), Name: name, Content: emulator.Random(uint64(i+1), size)})
	}
	e.SetManifest(manifestName, release, files...)
	return s, s.warmUp()
}

func (s *served) warmUp() error {
	base, err := url.Parse(s.emulator.URL())
	if err != nil {
		return err
	}
	source := config.Default().Source
	source.URL = base
	client, err := releases.Connect(source, customerID, transport.Options{})
	if err != nil {
		return err
	}
	refs, err := client.Manifest(context.Background(), release, manifestName)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if _, err := client.Metadata(context.Background(), ref); err != nil {
			return err
		}
		digest, err := client.Hash(context.Background(), manifest.SHA256, ref)
		if err != nil {
			return err
		}
		address := base.JoinPath(append([]string{"Download"}, ref.Segments()...)...)
		address.RawQuery = url.Values{"id": {customerID}}.Encode()
		s.files = append(s.files, servedFile{name: ref.Name, url: address.String(), sha256: digest.Hex})
	}
	return nil
}
