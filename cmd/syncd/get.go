package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/disk/durable"
	"syncd/internal/fetcher"
	"syncd/internal/get"
	"syncd/internal/host/rate"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

// getOptions are the flags of `syncd get`.
type getOptions struct {
	dir, tag             string
	force, quiet, asJSON bool
}

func getCommand(a *cli.App) *cobra.Command {
	var o getOptions
	cmd := &cobra.Command{
		Use: "get PATH...", Short: "Download and verify single files, e.g. Data/2026.10/ews.txt", Args: cli.Arguments(1, -1),
		Long: `Get files of any class and release. A file gets its name only after its content
matches the digest of its Hash endpoint, and is spelled as the provider spells it:

  syncd get Data/2026.10/ews.txt
  syncd get Library/LINUX/GCC48/64BIT/2026.10/libmdAddr.so -o /opt/lib
  syncd get Library/WINDOWS/NET/ANY/latest/Tool.exe --tag NET7

A file that the mirror has is copied from there. A file that is there already stays;
one with another content is replaced with --force only. After an interruption, the
same command continues the download.`,
		RunE: func(cmd *cobra.Command, args []string) error { return getFiles(cmd.Context(), a, args, o) },
	}
	cmd.Flags().StringVarP(&o.dir, "output", "o", ".", "folder for the files; it is made if it is missing")
	cmd.Flags().StringVar(&o.tag, "tag", "", "the `variant` of the files, such as NET7; a path can also end in ?tag=NET7")
	cmd.Flags().BoolVar(&o.force, "force", false, "replace files with another content")
	cmd.Flags().BoolVar(&o.quiet, "quiet", false, "print nothing but errors")
	a.AddWait(cmd.Flags())
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print one JSON object")
	return cmd
}

var errGetInterrupted = errors.New("interrupted: the same command continues the download")

func getFiles(ctx context.Context, a *cli.App, paths []string, o getOptions) error {
	refs, err := parseReferences(paths, o.tag)
	if err != nil {
		return err
	}
	a.IsQuiet = o.quiet
	ctx, end := transport.WithPoll(ctx)
	defer end()
	files := []get.File{}
	err = a.AskSources(ctx, func(cfg *config.Config, source cli.Source) error {
		m := readableMirror(cfg)
		defer m.Close() //nolint:errcheck // it was only read
		return get.Files(ctx, getConfig(cfg, source, m, o), without(refs, files), func(f get.File) {
			files = append(files, f)
			if !o.quiet && !o.asJSON {
				fmt.Fprintf(a.Stdout, "%s  %s  sha256:%s  %s\n", f.Path, humanize.IBytes(uint64(f.Bytes)), f.Object, f.Result)
			}
		})
	})
	if o.asJSON {
		err = errors.Join(err, a.PrintJSON(map[string][]get.File{"files": files}))
	}
	if err != nil && ctx.Err() != nil {
		return errGetInterrupted
	}
	if failed, ok := errors.AsType[*transport.Error](err); ok && failed.Kind == transport.NotFound {
		return fmt.Errorf("%w; `syncd files MANIFEST` lists the paths of all files", err)
	}
	return err
}

func getConfig(cfg *config.Config, source cli.Source, m *mirror.Mirror, o getOptions) get.Config {
	return get.Config{
		Provider: source, Algorithm: cfg.Source.Hash, Mirror: m, Folder: o.dir, Force: o.force,
		Fetcher: fetcher.Config{
			Files: cfg.Transfers.Files, Segments: cfg.Transfers.Segments, Bandwidth: rate.NewBudget(cfg.Transfers.Bandwidth), MinRate: transport.MinRate(cfg.Source.MinRate), KeepCache: cfg.Transfers.KeepCache,
		},
	}
}

// without is refs without those that are there already, from the source before.
func without(refs []manifest.Reference, there []get.File) []manifest.Reference {
	return slices.DeleteFunc(slices.Clone(refs), func(ref manifest.Reference) bool {
		return slices.ContainsFunc(there, func(f get.File) bool { return f.Reference == ref.String() })
	})
}

// readableMirror opens the data directory to copy from it. Another user, or a host
// without a mirror, downloads instead.
func readableMirror(cfg *config.Config) *mirror.Mirror {
	m, err := mirror.Open(cfg.DataDir, &durable.Disk{})
	if err != nil || m.Root() == nil {
		return nil
	}
	return m
}

// parseReferences reads the paths. tag is for those without their own. Two files with the
// same name are an error.
func parseReferences(paths []string, tag string) ([]manifest.Reference, error) {
	var refs []manifest.Reference
	taken := map[string]string{}
	for _, path := range paths {
		ref, err := manifest.ParseReference(path)
		if err != nil {
			return nil, cli.Usagef("%s: %w: write it as Data/2026.10/ews.txt", path, err)
		}
		if ref.Tag() == "" && tag != "" {
			if err := manifest.CheckTag(tag); err != nil {
				return nil, cli.Usagef("--tag: %w", err)
			}
			ref = ref.WithTag(tag)
		}
		if other, clash := taken[ref.Name()]; clash {
			return nil, cli.Usagef("%s and %s have the same name %s: download them into two folders", other, path, ref.Name())
		}
		taken[ref.Name()] = path
		refs = append(refs, ref)
	}
	return refs, nil
}
