package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/disk/durable"
	"syncd/internal/manifest"
	"syncd/internal/manifest/layout"
	"syncd/internal/mirror"
)

func mapCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "map MANIFEST", Short: "Print the map file that the provider's updater writes for a manifest", Args: cli.Arguments(1, 1),
		Long: `Print the map file that the provider's updater writes for a manifest: of the served
revision, or of the latest release at the provider if nothing is served. Edit it, and
name it in map_files of a view.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.LoadSource()
			if err != nil {
				return err
			}
			refs, err := servedReferences(cfg, args[0])
			if err == nil && refs == nil {
				refs, err = latestReferences(cmd.Context(), a, args[0])
			}
			if err != nil {
				return err
			}
			text, err := layout.WriteMap(args[0], refs)
			if err != nil {
				return err
			}
			_, err = a.Stdout.Write(text)
			return err
		},
	}
}

// servedReferences returns the files of the served revision, nil when nothing is served.
func servedReferences(cfg *config.Config, name string) (refs []manifest.Reference, err error) {
	m, err := mirror.Open(cfg.DataDir, &durable.Disk{})
	defer func() { err = errors.Join(err, m.Close()) }()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range m.Current().Records[name].Files {
		refs = append(refs, f.Reference)
	}
	return refs, nil
}

// latestReferences asks the provider for the files of a manifest.
func latestReferences(ctx context.Context, a *cli.App, name string) (refs []manifest.Reference, err error) {
	err = a.AskSources(ctx, func(_ *config.Config, source cli.Source) error {
		list, err := source.Manifest(ctx, manifest.Latest, name, nil)
		if err != nil {
			return err
		}
		for _, f := range list.Files() {
			refs = append(refs, f.Reference)
		}
		return nil
	})
	return refs, err
}
