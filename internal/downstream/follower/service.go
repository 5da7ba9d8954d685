package follower

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"syncd/internal/clients/releases"
	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
	"syncd/internal/mirror/record"
)

// Service answers questions of the release service from a bucket, for commands that a
// person waits for. It has the served release of each manifest, and keeps only the files
// that it was asked for: records can be longer than the memory. Safe for concurrent use.
type Service struct {
	*Client

	mu         sync.Mutex // guards what follows, also while records are read
	generation int        // whose records were read
	files      map[manifest.Reference]*record.File
}

// NewService returns the service of a bucket.
func NewService(c *Client) *Service {
	return &Service{Client: c, files: map[manifest.Reference]*record.File{}}
}

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
	record, err := s.Client.Record(ctx, m)
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

// Expect takes the files that will be asked for, so that each record is read once for all.
func (s *Service) Expect(refs []manifest.Reference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ref := range refs {
		s.files[ref] = nil
	}
	s.generation = 0
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, isExpected := s.files[ref]; !isExpected || s.generation != generation.Number {
		s.files[ref], s.generation = nil, 0
		if err := s.readLocked(ctx, generation); err != nil {
			return found, f, err
		}
		s.generation = generation.Number
	}
	if s.files[ref] == nil {
		return found, f, fmt.Errorf("the bucket has no file %s", ref)
	}
	return s.files[ref].Reference, *s.files[ref], nil
}

// readLocked looks for all expected files in the records of a generation.
func (s *Service) readLocked(ctx context.Context, generation bucket.Generation) error {
	missing := map[manifest.Reference][]manifest.Reference{} // by their form with the release latest
	for ref := range s.files {
		s.files[ref] = nil
		key := ref.WithRelease(manifest.Latest)
		missing[key] = append(missing[key], ref)
	}
	for _, m := range generation.Manifests {
		if len(missing) == 0 {
			break
		}
		record, err := s.Client.Record(ctx, m)
		if err != nil {
			return err
		}
		for _, f := range record.Files {
			key := f.Reference.WithRelease(manifest.Latest)
			if len(missing[key]) == 0 {
				continue
			}
			left := slices.DeleteFunc(missing[key], func(ref manifest.Reference) bool {
				isIt := ref.Release() == manifest.Latest || ref.Release() == f.Reference.Release()
				if isIt {
					found := f
					found.Metadata = nil // callers do not ask for it
					s.files[ref] = &found
				}
				return isIt
			})
			if missing[key] = left; len(left) == 0 {
				delete(missing, key)
			}
		}
	}
	return nil
}
