package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"syncd/internal/clients/releases"
	"syncd/internal/config"
	"syncd/internal/durable"
	"syncd/internal/fetcher"
	"syncd/internal/fsops"
	"syncd/internal/manifest"
	"syncd/internal/verify"
)

func (a *app) getCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "get PATH...", Short: "Download and verify single files, e.g. Data/2026.10/ews.txt", Args: arguments(1, -1),
		Long: `Download files of any class and release. A file gets its name only after its
content matches the digest of its Hash endpoint:

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
	var cause *fs.PathError
	if errors.As(err, &cause) {
		return fmt.Errorf("--output %s: %w: name a folder that exists and that you may write to", dir, cause.Err)
	}
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	unfinished, err := fsops.OpenDir(temp)
	if err != nil {
		return err
	}
	defer unfinished.Close()
	f := fetcher.New(client, unfinished, fetcher.Config{
		Files: cfg.Transfers.Files, Segments: cfg.Transfers.Segments, Bandwidth: cfg.Transfers.Bandwidth, MinRate: fetcher.MinRate(cfg.Source.MinRate), KeepCache: cfg.Transfers.KeepCache,
	})
	disk := new(durable.Disk)
	for _, ref := range refs {
		fetched, err := getOne(ctx, client, f, cfg, ref)
		if err != nil {
			return err
		}
		target := filepath.Join(dir, ref.Name)
		if err := unfinished.Chmod(fetched.Name, 0o644); err != nil {
			return err
		}
		if err := disk.SyncFiles(unfinished, []string{fetched.Name}); err != nil { // Fetch leaves a small file unsynced
			return err
		}
		if err := os.Rename(filepath.Join(temp, fetched.Name), target); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s  %s  sha256:%s\n", target, humanize.IBytes(uint64(fetched.Object.Size)), fetched.Object.ID)
	}
	return nil
}

func getOne(ctx context.Context, client *releases.Client, f *fetcher.Fetcher, cfg *config.Config, ref manifest.Reference) (verify.Proven, error) {
	digest, err := client.Hash(ctx, cfg.Source.Hash, ref)
	if err != nil {
		return verify.Proven{}, err
	}
	fetched, err := f.Fetch(ctx, manifest.File{Reference: ref, Path: ref.Name, Expected: digest}, -1, unwatched{})
	if err != nil {
		return verify.Proven{}, fmt.Errorf("%s: %w", ref, err)
	}
	return fetched, nil
}

// parseReferences reads the paths. Two files with the same name are an error.
func parseReferences(paths []string) ([]manifest.Reference, error) {
	var refs []manifest.Reference
	taken := map[string]string{}
	for _, path := range paths {
		ref, err := manifest.ParseReference(path)
		if err != nil {
			return nil, usagef("%s: %w: write it as Data/2026.10/ews.txt", path, err)
		}
		if other, clash := taken[ref.Name]; clash {
			return nil, usagef("%s and %s have the same name %s: download them into two folders", other, path, ref.Name)
		}
		taken[ref.Name] = path
		refs = append(refs, ref)
	}
	return refs, nil
}

// unwatched ignores the events of a download.
type unwatched struct{}

func (unwatched) Announced(int64) error    { return nil }
func (unwatched) Moved(int64, int64) error { return nil }
func (unwatched) Received()                {}
func (unwatched) Resumed(int64)            {}
func (unwatched) Mismatch(error)           {}
