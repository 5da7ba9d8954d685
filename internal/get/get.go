package get

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"syncd/internal/clients/releases"
	"syncd/internal/disk/durable"
	"syncd/internal/disk/fsops"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/mirror"
)

// Provider answers questions about files and sends them. Safe for concurrent use.
type Provider interface {
	fetcher.Source
	Hash(ctx context.Context, algorithm manifest.Algorithm, ref manifest.Reference) (manifest.Digest, error)
	Metadata(ctx context.Context, ref manifest.Reference) (releases.Metadata, error)
}

// Expecter is a Provider that reads much for one answer: it is told of all files before.
type Expecter interface {
	Expect(refs []manifest.Reference)
}

// Config is what Files needs; every field is required unless it says so.
type Config struct {
	Provider  Provider
	Fetcher   fetcher.Config
	Algorithm manifest.Algorithm
	Mirror    *mirror.Mirror // may be nil
	Folder    string         // made if it is missing
	Force     bool           // replace other files
}

// Result says where a file's content came from.
type Result string

// The results of a file.
const (
	Downloaded Result = "downloaded"
	Copied     Result = "copied"    // from the mirror
	Unchanged  Result = "unchanged" // it was there
)

// File is one file that was asked for, as `get --json` prints it.
type File struct {
	Reference string            `json:"reference"`
	Path      string            `json:"path"`
	Bytes     int64             `json:"bytes"`
	Object    manifest.ObjectID `json:"sha256"`
	Result    Result            `json:"result"`
}

// wish is one file to get.
type wish struct {
	ref      manifest.Reference
	name     string // in the folder
	expected manifest.Digest
	size     int64 // -1 when unknown
}

// getter gets files into one folder.
type getter struct {
	Config
	dir  *fsops.Dir
	disk durable.Disk
}

// Files gets files and calls show with each that has its name. It refuses all of them
// before the first download if one would replace another file, or if they do not fit.
func Files(ctx context.Context, cfg Config, refs []manifest.Reference, show func(File)) error {
	if provider, ok := cfg.Provider.(Expecter); ok {
		provider.Expect(refs)
	}
	wishes, err := ask(ctx, cfg, refs)
	if err != nil {
		return err
	}
	dir, err := openFolder(cfg.Folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	g := &getter{Config: cfg, dir: dir}
	missing, err := g.inspect(ctx, wishes, show)
	if err != nil {
		return err
	}
	if err := g.checkSpace(missing); err != nil {
		return err
	}
	for _, w := range missing {
		file, err := g.obtain(ctx, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.ref, err)
		}
		show(file)
	}
	return nil
}

// maxQuestions is how many files are asked about at once.
const maxQuestions = 16

// ask asks for the digests, names and sizes.
func ask(ctx context.Context, cfg Config, refs []manifest.Reference) ([]wish, error) {
	wishes := make([]wish, len(refs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxQuestions)
	for i, ref := range refs {
		group.Go(func() (err error) {
			wishes[i], err = askOne(ctx, cfg, ref)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return wishes, checkNames(wishes)
}

func askOne(ctx context.Context, cfg Config, ref manifest.Reference) (wish, error) {
	w := wish{ref: ref, name: ref.Name(), size: -1}
	err := fsops.CheckName(ref.Name())
	if err != nil {
		return w, refusal.New(refusal.BadName, "%w", err)
	}
	if w.expected, err = cfg.Provider.Hash(ctx, cfg.Algorithm, ref); err != nil {
		return w, err
	}
	meta, err := cfg.Provider.Metadata(ctx, ref)
	if err != nil {
		return w, context.Cause(ctx) // without an answer, Content-Length tells the size
	}
	w.size = meta.Size
	if strings.EqualFold(meta.FileName, ref.Name()) && manifest.CheckSegment(meta.FileName) == nil {
		w.name = meta.FileName // the service compares names without case
	}
	return w, nil
}

// checkNames refuses two files with one name. Names that differ only in case are one file
// on some file systems.
func checkNames(wishes []wish) error {
	taken := map[string]wish{}
	for _, w := range wishes {
		key := strings.ToLower(w.name)
		if other, clash := taken[key]; clash {
			return fmt.Errorf("%s and %s have the same name %s: get them into two folders", other.ref, w.ref, w.name)
		}
		taken[key] = w
	}
	return nil
}
