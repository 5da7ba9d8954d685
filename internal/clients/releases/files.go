package releases

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"syncd/internal/manifest"
	"syncd/internal/refusal"
)

// longList is the number of files from which a list waits until it is the only long one,
// because a list costs more memory while it is read than afterwards.
const longList = 4096

// readFiles reads the links of a manifest.
func (c *Client) readFiles(ctx context.Context, body io.Reader) ([]manifest.Reference, error) {
	f := files{client: c, limit: limit{entries: maxFiles}}
	defer f.release()
	err := readList(ctx, body, false, c.t.Redactor(), func(e Entry) error { return f.add(ctx, e.Name) })
	if err = cmp.Or(err, f.refused); err != nil {
		return nil, err
	}
	return f.list.References(), nil
}

// files collects the files of one manifest.
type files struct {
	client  *Client
	limit   limit
	list    manifest.List
	refused error // of the first unusable link
	alone   bool  // holds client.large
}

// add adds the file of a link. After an unusable link it keeps nothing and only counts,
// so that a list that is too long is refused as such.
func (f *files) add(ctx context.Context, link string) error {
	if err := f.limit.count(); err != nil {
		return err
	}
	if f.limit.seen == longList {
		if err := f.client.large.Acquire(ctx, 1); err != nil {
			return context.Cause(ctx)
		}
		f.alone = true
	}
	if f.refused != nil {
		return nil //nolint:nilerr // later links are only counted
	}
	if err := f.client.addLink(&f.list, link); err != nil {
		f.refused = &refusal.Error{Reason: refusal.ReasonOf(err), Err: fmt.Errorf("entry %d: %w", f.limit.seen, err)}
		f.list = manifest.List{}
	}
	return nil
}

func (f *files) release() {
	if f.alone {
		f.client.large.Release(1)
	}
}

// maxLink limits a link in bytes; real ones have about a hundred.
const maxLink = 8 << 10

// addLink adds the file of a link. A link that names the Customer ID is refused: as a
// part of a file's name the ID would be stored on disk and in every record.
func (c *Client) addLink(list *manifest.List, link string) error {
	if len(link) > maxLink {
		return refusal.New(refusal.BadShape, "link of %d bytes, at most %d are allowed", len(link), maxLink)
	}
	ref, err := manifest.ParseLink(link)
	if err != nil {
		return err
	}
	if c.t.HoldsID(ref.String()) {
		return refusal.New(refusal.BadName, "file name with the Customer ID")
	}
	return list.Add(ref)
}
