package releases

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
)

// readFiles reads the links of a manifest. The list holds what it needs of share.
func (c *Client) readFiles(ctx context.Context, body io.Reader, share *Share) (*manifest.List, error) {
	f := files{client: c, share: share, limit: limit{entries: maxFiles}}
	err := readList(ctx, body, false, c.t.Redactor(), func(e ListedManifest) error { return f.add(e.Name) })
	if err = cmp.Or(err, f.refused); err == nil && f.lacking > 0 {
		err = &NoRoomError{Size: f.lacking}
	}
	if err != nil {
		share.Release()
		return nil, err
	}
	share.shrink(f.list.Size())
	return f.list.List(), nil
}

// files collects the files of one manifest.
type files struct {
	client  *Client
	share   *Share
	limit   limit
	list    manifest.ListBuilder
	refused error // of the first unusable link
	lacking int   // about the size of a list that does not fit; 0 while it does
}

// add adds the file of a link. After an unusable link, and in a list that does not fit,
// it keeps nothing: the first is counted, to refuse a list that is too long as such, the
// second is measured.
func (f *files) add(link string) error {
	if err := f.limit.count(); err != nil || f.refused != nil {
		return err
	}
	if f.lacking > 0 {
		f.lacking += manifest.SizePerFile + 2*len(link)
		return nil
	}
	if err := f.client.addLink(&f.list, link); err != nil {
		f.refused = &refusal.Error{Reason: refusal.ReasonOf(err), Err: fmt.Errorf("entry %d: %w", f.limit.seen, err)}
		f.drop()
		return nil //nolint:nilerr // later links are only counted
	}
	if size := f.list.Size(); !f.share.fits(size) {
		f.lacking = size
		f.drop()
	}
	return nil
}

// drop frees the memory of the list.
func (f *files) drop() {
	f.list = manifest.ListBuilder{}
	f.share.Release()
}

// maxLink limits a link in bytes; real ones have about a hundred.
const maxLink = 8 << 10

// addLink adds the file of a link. A link that names the Customer ID is refused: as a
// part of a file's name the ID would be stored on disk and in every record.
func (c *Client) addLink(list *manifest.ListBuilder, link string) error {
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
	return list.AddLink(ref, link)
}
