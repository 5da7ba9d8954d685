package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"syncd/internal/clients/releases"
	"syncd/internal/config"
	"syncd/internal/engine"
	"syncd/internal/manifest"
)

func (a *app) releasesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "releases MANIFEST", Short: "List the releases of a manifest at the provider", Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, client, err := a.connect()
			if err != nil {
				return err
			}
			ids, err := releasesOf(cmd.Context(), cfg, client, args[0])
			for _, id := range ids {
				fmt.Fprintln(a.stdout, printable(id))
			}
			return err
		},
	}
}

func (a *app) manifestsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "manifests [RELEASE]", Short: "List the manifests of a release at the provider (default: the latest)", Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			release, err := releaseArg(args)
			if err != nil {
				return err
			}
			_, client, err := a.connect()
			if err != nil {
				return err
			}
			entries, err := client.ManifestList(cmd.Context(), release)
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			for _, entry := range entries {
				fmt.Fprintf(table, "%s\t%s\n", printable(entry.Name), printable(entry.Description))
			}
			return table.Flush()
		},
	}
}

func (a *app) filesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "files MANIFEST [RELEASE]", Short: "List the files of a manifest at the provider (default: of its latest release)", Args: arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			release, err := releaseArg(args[1:])
			if err != nil {
				return err
			}
			cfg, client, err := a.connect()
			if err != nil {
				return err
			}
			refs, err := filesOf(cmd.Context(), cfg, client, args[0], release)
			if err != nil {
				return err
			}
			for ref := range refs {
				fmt.Fprintln(a.stdout, ref)
			}
			return nil
		},
	}
}

// releasesOf lists the releases of a manifest at the provider. For a configured entry with
// a product or single files, they are those of its files.
func releasesOf(ctx context.Context, cfg *config.Config, client source, name string) ([]string, error) {
	files := engine.FilesOf(cfg, name)
	if len(files) == 0 {
		ids, _, _, err := client.ManifestReleases(ctx, name, releases.Validators{})
		return ids, err
	}
	var all []string
	for _, ref := range files {
		ids, _, _, err := client.FileReleases(ctx, ref, releases.Validators{})
		if err != nil {
			return nil, err
		}
		all = append(all, ids...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// filesOf lists the files of a manifest's release at the provider. For a configured entry
// with a product or single files, release stands for those that have no release of their
// own; Metadata tells which one is the latest.
func filesOf(ctx context.Context, cfg *config.Config, client source, name string, release manifest.Release) (iter.Seq[manifest.Reference], error) {
	files := engine.FilesOf(cfg, name)
	if len(files) == 0 {
		list, err := client.Manifest(ctx, release, name, nil)
		if err != nil {
			return nil, err
		}
		return list.All(), nil
	}
	for i, ref := range files {
		if ref.Release() == manifest.Latest {
			ref = ref.WithRelease(release)
		}
		meta, err := client.Metadata(ctx, ref)
		if err != nil {
			return nil, err
		}
		if month := manifest.Release(meta.Release); ref.Release() == manifest.Latest && month.IsMonth() {
			ref = ref.WithRelease(month)
		}
		files[i] = ref
	}
	return slices.Values(files), nil
}

// printable quotes text of the provider that would control the terminal.
func printable(s string) string {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return strconv.Quote(s)
	}
	return s
}

func releaseArg(args []string) (manifest.Release, error) {
	if len(args) == 0 {
		return manifest.Latest, nil
	}
	release, err := manifest.ParseRelease(args[0])
	if err != nil {
		return "", &usageError{err: err}
	}
	return release, nil
}
