package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/engine"
	"syncd/internal/manifest"
	"syncd/internal/report"
)

func releasesCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "releases MANIFEST", Short: "List the releases of a manifest at the provider", Args: cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, client, err := a.Connect()
			if err != nil {
				return err
			}
			ids, err := releasesOf(cmd.Context(), cfg, client, args[0])
			for _, id := range ids {
				fmt.Fprintln(a.Stdout, report.VisibleLine(id))
			}
			return err
		},
	}
	a.AddWait(cmd.Flags())
	return cmd
}

func manifestsCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "manifests [RELEASE]", Short: "List the manifests of a release at the provider (default: the latest)", Args: cli.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			release, err := releaseArg(args)
			if err != nil {
				return err
			}
			_, client, err := a.Connect()
			if err != nil {
				return err
			}
			entries, err := client.ManifestList(cmd.Context(), release)
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
			for _, entry := range entries {
				fmt.Fprintf(table, "%s\t%s\n", report.VisibleLine(entry.Name), report.VisibleLine(entry.Description))
			}
			return table.Flush()
		},
	}
	a.AddWait(cmd.Flags())
	return cmd
}

func filesCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "files MANIFEST [RELEASE]", Short: "List the files of a manifest at the provider (default: of its latest release)", Args: cli.Arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			release, err := releaseArg(args[1:])
			if err != nil {
				return err
			}
			cfg, client, err := a.Connect()
			if err != nil {
				return err
			}
			refs, err := filesOf(cmd.Context(), cfg, client, args[0], release)
			if err != nil {
				return err
			}
			for ref := range refs {
				fmt.Fprintln(a.Stdout, ref)
			}
			return nil
		},
	}
	a.AddWait(cmd.Flags())
	return cmd
}

// releasesOf lists the releases of a manifest at the provider. For a configured entry with
// a product or single files, they are those of its files.
func releasesOf(ctx context.Context, cfg *config.Config, client cli.Source, name string) ([]string, error) {
	files := engine.FilesOf(cfg, name)
	if len(files) == 0 {
		ids, _, _, err := client.ManifestReleases(ctx, name, releases.Validators{})
		return ids, err
	}
	var all []string
	ctx, end := transport.WithPoll(ctx)
	defer end()
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
func filesOf(ctx context.Context, cfg *config.Config, client cli.Source, name string, release manifest.Release) (iter.Seq[manifest.Reference], error) {
	files := engine.FilesOf(cfg, name)
	if len(files) == 0 {
		list, err := client.Manifest(ctx, release, name, nil)
		if err != nil {
			return nil, err
		}
		return list.All(), nil
	}
	ctx, end := transport.WithPoll(ctx)
	defer end()
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

func releaseArg(args []string) (manifest.Release, error) {
	if len(args) == 0 {
		return manifest.Latest, nil
	}
	release, err := manifest.ParseRelease(args[0])
	if err != nil {
		return "", &cli.UsageError{Err: err}
	}
	return release, nil
}
