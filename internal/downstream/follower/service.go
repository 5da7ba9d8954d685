package follower

import (
	"context"
	"fmt"
	"sync"

	"syncd/internal/clients/releases"
	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// Service answers questions of the release service from a bucket, for commands that a
// person waits for. It has the served release of each manifest. Safe for concurrent use.
type Service struct {
	*Client

	mu      sync.Mutex // guards what follows, also while a record is read
	records map[string]contents
}

// contents is a record that was read, and its files by their references, with the release
// latest in the place of their own.
type contents struct {
	record.Record
	byReference map[manifest.Reference]int
}

// NewService returns the service of a bucket.
func NewService(c *Client) *Service { return &Service{Client: c, records: map[string]contents{}} }

// ManifestList returns the manifests that the bucket has in a release.
func (s *Service) ManifestList(ctx context.Context, release manifest.Release) ([]releases.ListedManifest, error) {
	generation, err := s.Client.Generation(ctx)
	entries := []releases.ListedManifest{}
	for _, m := range generation.Manifests {
		if release == manifest.Latest || release == m.Release {
			entries = append(entries, releases.ListedManifest{Name: m.Name, Description: string(m.Release)})
		}
	}
	return entries, err
}

// ManifestReleases returns the release that the bucket has of a manifest.
func (s *Service) ManifestReleases(ctx context.Context, name string, _ releases.Validators) (ids []string, _ releases.Validators, notModified bool, err error) {
	m, err := s.find(ctx, manifest.Latest, name)
	if err != nil {
		return nil, releases.Validators{}, false, err
	}
	return []string{string(m.Release)}, releases.Validators{}, false, nil
}

// FileReleases returns the release that the bucket has of a file.
func (s *Service) FileReleases(ctx context.Context, ref manifest.Reference, _ releases.Validators) (ids []string, _ releases.Validators, notModified bool, err error) {
	found, _, err := s.file(ctx, ref.WithRelease(manifest.Latest))
	if err != nil {
		return nil, releases.Validators{}, false, err
	}
	return []string{string(found.Release())}, releases.Validators{}, false, nil
}

// Manifest returns the files of what the bucket has of a manifest.
func (s *Service) Manifest(ctx context.Context, release manifest.Release, name string, _ *releases.Share) (*manifest.List, error) {
	m, err := s.find(ctx, release, name)
	if err != nil {
		return nil, err
	}
	record, err := s.record(ctx, m)
	if err != nil {
		return nil, err
	}
	var list manifest.ListBuilder
	for _, f := range record.Files {
		if err := list.Add(f.Reference); err != nil {
			return nil, err
		}
	}
	return list.List(), nil
}

func (s *Service) find(ctx context.Context, release manifest.Release, name string) (bucket.Manifest, error) {
	generation, err := s.Client.Generation(ctx)
	if err != nil {
		return bucket.Manifest{}, err
	}
	m, found := generation.Manifest(name)
	if !found || release != manifest.Latest && release != m.Release {
		return bucket.Manifest{}, fmt.Errorf("the bucket has no release %s of %s; `syncd manifests` lists what it has", release, name)
	}
	return m, nil
}

// record returns the record of a manifest, which is read once.
func (s *Service) record(ctx context.Context, m bucket.Manifest) (contents, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.records[m.Record()]; ok {
		return known, nil
	}
	text, err := s.Client.Record(ctx, m)
	if err != nil {
		return contents{}, err
	}
	read := contents{text, make(map[manifest.Reference]int, len(text.Files))}
	for i, f := range text.Files {
		read.byReference[f.Reference.WithRelease(manifest.Latest)] = i
	}
	s.records[m.Record()] = read
	return read, nil
}

// Hash returns the SHA-256 of a file.
func (s *Service) Hash(ctx context.Context, _ manifest.Algorithm, ref manifest.Reference) (manifest.Digest, error) {
	_, f, err := s.file(ctx, ref)
	return f.Object.Digest(), err
}

// Metadata returns what the bucket knows of a file.
func (s *Service) Metadata(ctx context.Context, ref manifest.Reference) (releases.Metadata, error) {
	found, f, err := s.file(ctx, ref)
	return releases.Metadata{FileName: found.Name(), Release: string(found.Release()), Size: f.Size, SHA256: f.Object.Digest()}, err
}

// file looks for a file in all manifests. The release latest stands for any.
func (s *Service) file(ctx context.Context, ref manifest.Reference) (found manifest.Reference, f record.File, err error) {
	generation, err := s.Client.Generation(ctx)
	if err != nil {
		return found, f, err
	}
	key := ref.WithRelease(manifest.Latest)
	for _, m := range generation.Manifests {
		known, err := s.record(ctx, m)
		if err != nil {
			return found, f, err
		}
		at, ok := known.byReference[key]
		if !ok {
			continue
		}
		found = known.Files[at].Reference
		if ref.Release() == manifest.Latest || ref.Release() == found.Release() {
			return found, known.Files[at], nil
		}
	}
	return found, f, fmt.Errorf("the bucket has no file %s", ref)
}
