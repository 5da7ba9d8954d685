package browse

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/engine"
	"syncd/internal/manifest"
	"syncd/internal/report"
	"syncd/internal/ui/terminal"
)

// ReleasesCommand returns `syncd releases`.
func ReleasesCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "releases MANIFEST", Short: "List the releases of a manifest at the provider", Args: cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var ids []string
			err := a.AskSources(cmd.Context(), func(cfg *config.Config, source cli.Source) (err error) {
				ids, err = releasesOf(cmd.Context(), cfg, source, args[0])
				return err
			})
			if asJSON && err == nil {
				return a.PrintJSON(map[string]any{"manifest": args[0], "releases": append([]string{}, ids...)})
			}
			for _, id := range ids {
				fmt.Fprintln(a.Stdout, report.VisibleLine(id))
			}
			return err
		},
	}
	a.AddWait(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// ManifestsCommand returns `syncd manifests`.
func ManifestsCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "manifests [RELEASE]", Short: "List the manifests of a release at the provider (default: the latest)", Args: cli.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			release, err := releaseArg(args)
			if err != nil {
				return err
			}
			var entries []releases.ListedManifest
			err = a.AskSources(cmd.Context(), func(_ *config.Config, source cli.Source) (err error) {
				entries, err = source.ManifestList(cmd.Context(), release)
				return err
			})
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(map[string]any{"release": release, "manifests": describedManifests(entries)})
			}
			table := terminal.NewList(a.Stdout, "MANIFEST", "DESCRIPTION")
			for _, entry := range entries {
				table.Row(entry.Name, entry.Description)
			}
			return table.Flush()
		},
	}
	a.AddWait(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// FilesCommand returns `syncd files`.
func FilesCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "files MANIFEST [RELEASE]", Short: "List the files of a manifest at the provider (default: of its latest release)", Args: cli.Arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			release, err := releaseArg(args[1:])
			if err != nil {
				return err
			}
			var refs iter.Seq[manifest.Reference]
			err = a.AskSources(cmd.Context(), func(cfg *config.Config, source cli.Source) (err error) {
				refs, err = FilesOf(cmd.Context(), cfg, source, args[0], release)
				return err
			})
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(map[string]any{"manifest": args[0], "files": listed(refs)})
			}
			for ref := range refs {
				fmt.Fprintln(a.Stdout, ref)
			}
			return nil
		},
	}
	a.AddWait(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func describedManifests(entries []releases.ListedManifest) []map[string]string {
	list := []map[string]string{}
	for _, entry := range entries {
		list = append(list, map[string]string{"name": entry.Name, "description": entry.Description})
	}
	return list
}

// listedFile is a file as `files --json` names it.
type listedFile struct {
	Reference manifest.Reference `json:"reference"`
	Class     string             `json:"class"`
	Release   manifest.Release   `json:"release"`
	Name      string             `json:"name"`
}

func listed(refs iter.Seq[manifest.Reference]) []listedFile {
	files := []listedFile{}
	for ref := range refs {
		files = append(files, listedFile{ref, string(ref.Class()), ref.Release(), ref.Name()})
	}
	return files
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

// FilesOf lists the files of a manifest's release at the provider. For a configured entry
// with a product or single files, release stands for those that have no release of their
// own; Metadata tells which one is the latest.
func FilesOf(ctx context.Context, cfg *config.Config, client cli.Source, name string, release manifest.Release) (iter.Seq[manifest.Reference], error) {
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
