package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"syncd/internal/clients/releases"
	"syncd/internal/config"
	"syncd/internal/fetcher"
	"syncd/internal/manifest"
)

func (a *app) releasesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "releases MANIFEST", Short: "List the releases of a manifest at the provider", Args: cobra.ExactArgs(1),
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
		Use: "manifests [RELEASE]", Short: "List the manifests of a release at the provider (default: the latest)", Args: cobra.MaximumNArgs(1),
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
		Use: "files MANIFEST [RELEASE]", Short: "List the files of a manifest at the provider (default: of its latest release)", Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			release, err := releaseArg(args[1:])
			if err != nil {
				return err
			}
			_, client, err := a.connect()
			if err != nil {
				return err
			}
			refs, err := client.Manifest(cmd.Context(), release, args[0])
			for _, ref := range refs {
				fmt.Fprintln(a.stdout, ref)
			}
			return err
		},
	}
}

// printable keeps what a provider wrote from acting on a terminal.
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

func (a *app) getCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "get PATH...", Short: "Fetch single files, verified, e.g. Data/2026.10/ews.txt", Args: cobra.MinimumNArgs(1),
		Long: `Fetch files of any class and release, each proven against its Hash endpoint before
it gets its name:

  syncd get Data/2026.10/ews.txt
  syncd get Library/LINUX/GCC48/64BIT/2026.10/libmdAddr.so -o /opt/lib`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.get(cmd.Context(), args, dir) },
	}
	cmd.Flags().StringVarP(&dir, "output", "o", ".", "folder for the files")
	return cmd
}

func (a *app) get(ctx context.Context, paths []string, dir string) error {
	refs, err := parseReferences(paths)
	if err != nil {
		return err
	}
	cfg, client, err := a.connect()
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp(dir, ".syncd-get-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	f := fetcher.New(client, temp, cfg.Transfers.Bandwidth)
	for _, ref := range refs {
		fetched, err := getOne(ctx, client, f, cfg, ref)
		if err != nil {
			return err
		}
		target := filepath.Join(dir, ref.Name)
		if err := os.Chmod(fetched.Path, 0o644); err != nil {
			return err
		}
		if err := os.Rename(fetched.Path, target); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s  %s  sha256:%s\n", target, humanize.IBytes(uint64(fetched.Object.Size)), fetched.Object.SHA256)
	}
	return nil
}

func getOne(ctx context.Context, client *releases.Client, f *fetcher.Fetcher, cfg *config.Config, ref manifest.Reference) (fetcher.Fetched, error) {
	digest, err := client.Hash(ctx, cfg.Source.Hash, ref)
	if err != nil {
		return fetcher.Fetched{}, err
	}
	fetched, err := f.Fetch(ctx, manifest.File{Reference: ref, Path: ref.Name, Expected: digest}, unwatched{})
	if err != nil {
		return fetcher.Fetched{}, fmt.Errorf("%s: %w", ref, err)
	}
	return fetched, nil
}

// parseReferences reads what to get; two files cannot get one name.
func parseReferences(paths []string) ([]manifest.Reference, error) {
	var refs []manifest.Reference
	taken := map[string]string{}
	for _, path := range paths {
		ref, err := manifest.ParseReference(path)
		if err != nil {
			return nil, usagef("%s: %w: write it as Data/2026.10/ews.txt", path, err)
		}
		if other, clash := taken[ref.Name]; clash {
			return nil, usagef("%s and %s would both become %s: get them into two folders", other, path, ref.Name)
		}
		taken[ref.Name] = path
		refs = append(refs, ref)
	}
	return refs, nil
}

// unwatched follows no download.
type unwatched struct{}

func (unwatched) Announced(int64) error    { return nil }
func (unwatched) Moved(int64, int64) error { return nil }
func (unwatched) Mismatch(error)           {}
