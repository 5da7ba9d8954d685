package source

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"syncd/internal/manifest"
	"syncd/internal/mirror"
	"syncd/internal/mirror/record"
	"syncd/internal/syncer/lockfile"
)

// ReadLockfile reads a lock file. It refuses a lock of a source that is neither url nor one of its
// siblings, and one whose manifests are not the configured ones.
func ReadLockfile(text []byte, url string, siblings, configured []string) (*lockfile.File, error) {
	lock, err := lockfile.Parse(text)
	if err != nil {
		return nil, err
	}
	if lock.Source != url && !slices.Contains(siblings, lock.Source) {
		return nil, fmt.Errorf("the lock file is of %q, but source.url is %s: make the lock file on a host with that source.url", lock.Source, url)
	}
	inLock := []string{}
	for _, m := range lock.Manifests {
		inLock = append(inLock, m.Manifest)
	}
	slices.Sort(configured)
	slices.Sort(inLock)
	if !slices.Equal(configured, inLock) {
		return nil, fmt.Errorf("the lock file has the manifests %s, but the configuration has %s: make them the same", strings.Join(inLock, ", "), strings.Join(configured, ", "))
	}
	return lock, nil
}

// lockfileKind is a manifest of a lock file, which has the digests, so that the provider is
// asked for downloads and sizes only.
type lockfileKind struct{ *Entry }

func (k *lockfileKind) locked() record.Record {
	m, _ := k.cfg.Lockfile.Manifest(k.Target.Name) // ReadLockfile has compared the names
	return m
}

func (k *lockfileKind) release(context.Context) (manifest.Release, error) {
	return k.locked().Release, nil
}

// checkDowngrade accepts what the lock file says.
func (k *lockfileKind) checkDowngrade() error { return nil }

func (k *lockfileKind) list(context.Context) (Listing, error) {
	m := k.locked()
	return Listing{Planned: lockfile.PlannedFiles(m), Count: m.Listed}, nil
}

// digests has nothing to ask: Planned has them.
func (k *lockfileKind) digests(context.Context, []manifest.File, func(manifest.File) bool) error {
	return nil
}

// complete has nothing to ask: a lock file describes nothing.
func (k *lockfileKind) complete(_ context.Context, record, _ mirror.Record) (mirror.Record, error) {
	return record, ErrNothingLearned
}

func (k *lockfileKind) drop() {}
