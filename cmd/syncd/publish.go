package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/config/place"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/ui/terminal"
)

func publishCommand(a *cli.App) *cobra.Command {
	var req request.Upload
	var asJSON bool
	cmd := &cobra.Command{
		Use: "publish", Short: "Publish to object storage what is served, without a sync", Args: cli.Arguments(0, 0),
		Long: `Publish what is served to the bucket of publish.s3. Each sync does this before it ends,
so this command is for an attempt right after a failure, and for a look at what would be
uploaded (--dry-run). With a list of places in publish.s3, it works at all of them side by
side, or with --target at one.

--gc also deletes what no generation in use names and what is older than
publish.s3.grace. Each publication of something new does this, too.

--force replaces what another publisher has newer, in a new epoch, which followers accept
although its data is older. That publisher then publishes nothing until its own operator
forces it. With election, this host takes the lease.

--verify publishes nothing. It looks whether the bucket has everything that followers may
still read: each record and object with its size, and its SHA-256 where the server keeps
one. Where it keeps none, up to 1 GiB of objects is read, another part each time; --read
reads them all. --repair uploads again what is missing or damaged, as far as this host
still has it. Damage that is left makes the exit status 1. With scrub.schedule, the daemon does
the same as --verify --repair at the times of the scrub.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !req.Verify && (req.Repair || req.Read):
				return cli.Usagef("--repair and --read need --verify")
			case req.Verify && (req.DryRun || req.Collect || req.Force):
				return cli.Usagef("--verify publishes nothing: leave --dry-run, --gc and --force away")
			}
			return work[request.Upload, report.Upload]{
				operation: operation.Upload, check: hasTarget(req.Target), asJSON: asJSON, isOK: report.Upload.OK,
				text: lines(func(w io.Writer, r report.Upload) {
					terminal.PrintUpload(w, r, req.DryRun)
					if req.Verify && !req.Repair && !r.OK() {
						fmt.Fprintln(w, "`syncd publish --verify --repair` uploads again what this host has")
					}
				}),
			}.run(cmd.Context(), a, req)
		},
	}
	cmd.Flags().StringVar(&req.Target, "target", "", "work at one place of a list in publish.s3 only: its name")
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "show what would be uploaded and deleted, and change nothing")
	cmd.Flags().BoolVar(&req.Collect, "gc", false, "delete what nothing in the bucket needs any more")
	cmd.Flags().BoolVar(&req.Force, "force", false, "replace what another publisher has newer")
	cmd.Flags().BoolVar(&req.Verify, "verify", false, "look whether the bucket has everything that it names")
	cmd.Flags().BoolVar(&req.Repair, "repair", false, "with --verify, upload again what is missing or damaged")
	cmd.Flags().BoolVar(&req.Read, "read", false, "with --verify, read all objects")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// hasTarget requires a place to publish to, with a name unless that is "".
func hasTarget(name string) func(*config.Config) error {
	return func(cfg *config.Config) error {
		isNamed := func(t place.Target) bool { return t.Name == name }
		switch {
		case !cfg.Publish.S3.IsSet():
			return cli.Usagef("%s has no publish.s3: say there where this host publishes", cfg.Path)
		case name != "" && !slices.ContainsFunc(cfg.Publish.Targets, isNamed):
			return cli.Usagef("publish.s3 in %s has no place with the name %s", cfg.Path, name)
		}
		return nil
	}
}
