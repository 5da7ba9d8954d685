package main

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"syncd/internal/clients/releases"
	"syncd/internal/manifest"
)

func (a *app) releasesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "releases MANIFEST", Short: "List the releases of a manifest at the provider", Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, client, err := a.connect()
			if err != nil {
				return err
			}
			ids, _, _, err := client.ManifestReleases(cmd.Context(), args[0], releases.Validators{})
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
			_, client, err := a.connect()
			if err != nil {
				return err
			}
			list, err := client.Manifest(cmd.Context(), release, args[0], nil)
			if err != nil {
				return err
			}
			for ref := range list.All() {
				fmt.Fprintln(a.stdout, ref)
			}
			return nil
		},
	}
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
