package releases

import (
	"cmp"
	"context"
	"io"

	"syncd/internal/clients/transport"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// ListedManifest is one manifest of a release.
type ListedManifest struct {
	Name        string `json:"manifestName" xml:"manifestName"`
	Description string `json:"description" xml:"description"`
	URL         string `json:"url" xml:"url"` // without the Customer ID; may name an older release
}

// readManifests reads the manifests of a ManifestList: objects in JSON or XML, or names
// alone in any list format.
func readManifests(ctx context.Context, body io.Reader, redact transport.Redactor) ([]ListedManifest, error) {
	entries, limit := []ListedManifest{}, limit{entries: maxManifests, bytes: maxEntries}
	var refused error // of the first unusable entry: later ones are only counted
	err := readList(ctx, body, true, redact, func(entry ListedManifest) error {
		if err := limit.count(); err != nil || refused != nil {
			return err
		}
		if refused = checkManifest(entry, limit.seen); refused != nil {
			return nil //nolint:nilerr // later entries are only counted
		}
		entry.Name = redact.Name(entry.Name)
		entry.Description, entry.URL = redacted(entry.Description, redact), redacted(entry.URL, redact)
		entries = append(entries, entry)
		return limit.keep(entry.Name, entry.Description, entry.URL)
	})
	if err = cmp.Or(err, refused); err != nil {
		return nil, err
	}
	return entries, nil
}

func checkManifest(entry ListedManifest, number int) error {
	if entry.Name == "" {
		return refusal.New(refusal.BadShape, "entry %d of the list has no manifest name", number)
	}
	if manifest.CheckSegment(entry.Name) != nil {
		return refusal.New(refusal.BadName, "entry %d of the list has a name that is not one plain path segment", number)
	}
	return nil
}

func readIDs(ctx context.Context, body io.Reader, redact transport.Redactor) ([]string, error) {
	var ids []string
	limit := limit{entries: maxReleases, bytes: maxIDs}
	err := readList(ctx, body, false, redact, func(entry ListedManifest) error {
		if err := limit.count(); err != nil {
			return err
		}
		id := redactedID(entry.Name, redact)
		ids = append(ids, id)
		return limit.keep(id)
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// redactedID leaves an id in the form of a release as it is, even when it holds a
// Customer ID such as 2026.
func redactedID(id string, redact transport.Redactor) string {
	if _, err := manifest.ParseRelease(id); err == nil {
		return id
	}
	return redacted(id, redact)
}
