//go:build linux

package doctor

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/errgroup"

	"syncd/internal/disk/fsops"
	"syncd/internal/disk/space"
	"syncd/internal/get"
	"syncd/internal/manifest"
	"syncd/internal/report"
)

// Metadata is asked for so many files of a manifest. The others count as much as these on
// average.
const maxAsked, askedAtOnce, askPatience = 300, 8, 20 * time.Second

// inodesPerFile are an object and its name in a revision; inodesPerManifest are its
// folders, records and those of objects.
const inodesPerFile, inodesPerManifest = 2, 300

// checkSpace compares the free space with what the next sync can take: the whole release
// of a manifest that is not served yet. A served one needs as much as it has at most.
func (p *provider) checkSpace(ctx context.Context) []Finding {
	if len(p.lists) == 0 {
		return []Finding{skipped("not checked, because no manifest can be listed")}
	}
	dir, err := fsops.OpenDir(existingParent(p.cfg.DataDir))
	if err != nil {
		return []Finding{failing(err, "check data_dir")}
	}
	defer dir.Close()
	free, err := space.Free(dir)
	if err != nil {
		return []Finding{failing(err, "check the mount with `findmnt`")}
	}
	status, _ := p.Status(ctx, p.cfg) // what cannot be read counts as not served
	first, next := p.needs(ctx, status)
	folders := []string{"partial", "objects"}
	if status.Generation > 0 {
		folders = folders[:1] // the objects may be those of served manifests
	}
	first = first.Minus(present(dir, folders))
	room := humanize.IBytes(uint64(max(free.Bytes, 0)))
	switch {
	case !space.Fits(first, free):
		return []Finding{failing(space.Refuse(first, free, ""), "make room")}
	case !space.Fits(next.Plus(first), free):
		return []Finding{hint("make room on the disk of data_dir, or lower `retain`", "%s are free; if all files of the next releases change, they need %s", room, humanize.IBytes(uint64(next.Plus(first).Bytes)))}
	}
	return []Finding{good("%s are free, the next sync takes at most %s", room, humanize.IBytes(uint64(next.Plus(first).Bytes)))}
}

// needs is the space for manifests that are not served yet, and for another release of
// the others.
func (p *provider) needs(ctx context.Context, status report.Status) (first, next space.Amount) {
	served := map[string]int64{}
	for _, m := range status.Manifests {
		if m.Release != "" {
			served[m.Name] = m.Bytes
		}
	}
	copies := int64(1)
	if p.disk.noLinks {
		copies = 2
	}
	for i := range p.lists {
		l := &p.lists[i]
		need := space.Amount{Inodes: inodesPerFile*int64(len(l.files)) + inodesPerManifest}
		if bytes, ok := served[l.manifest.Name]; ok {
			need.Bytes = copies * space.OfContent(bytes).Bytes
			next = next.Plus(need)
			continue
		}
		l.ask(ctx, p.source.Provider, maxAsked)
		need.Bytes = copies * l.bytes()
		first = first.Plus(need)
	}
	return first, next
}

// present is the space of what earlier syncs have fetched already.
func present(dir *fsops.Dir, folders []string) (present space.Amount) {
	for _, folder := range folders {
		_ = dir.EachEntry(folder, func(entry fs.DirEntry) error { // what cannot be read counts as missing
			visit := func(_ string, entry fs.DirEntry) {
				if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
					present = present.Plus(space.OfContent(info.Size())).Plus(space.Amount{Inodes: 1})
				}
			}
			return dir.Walk(folder+"/"+entry.Name(), visit)
		})
	}
	return present
}

// ask asks Metadata for the sizes of at most n files. A file without an answer has none.
func (l *list) ask(ctx context.Context, client get.Provider, n int) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	n = min(n, len(l.files))
	sizes := make([]int64, n)
	var group errgroup.Group
	group.SetLimit(askedAtOnce)
	for i, ref := range l.files[:n] {
		group.Go(func() error {
			sizes[i] = -1
			if meta, err := client.Metadata(ctx, ref); err == nil {
				sizes[i] = meta.Size
			}
			return nil
		})
	}
	_ = group.Wait() // no function fails
	l.sizes = map[string]int64{}
	for i, size := range sizes {
		if size >= 0 {
			l.sizes[l.files[i].String()] = size
		}
	}
}

// bytes is about what all files take on the disk.
func (l *list) bytes() int64 {
	if len(l.sizes) == 0 {
		return 0
	}
	var sum int64
	for _, size := range l.sizes {
		sum += space.OfContent(size).Bytes
	}
	return sum / int64(len(l.sizes)) * int64(len(l.files))
}

// largest is the file whose size is known to be the largest, or the first.
func (l *list) largest() manifest.Reference {
	return slices.MaxFunc(l.files, func(a, b manifest.Reference) int {
		return cmp.Compare(l.sizes[a.String()], l.sizes[b.String()])
	})
}
