package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/ui/terminal"
)

func adoptCommand(a *cli.App) *cobra.Command {
	var req request.Adopt
	var asJSON bool
	cmd := &cobra.Command{
		Use: "adopt DIR [--manifest NAME...]", Short: "Use the files of another program's folder, so that they need no download", Args: cli.Arguments(1, -1),
		Long: `Read the files in DIR and below, such as those of the provider's updater, and keep
those that the configured releases need. The next sync downloads only the rest, and
this command says how much that is.

The content alone decides: names and .hash files are not trusted. Only files with the
size of a needed one are read. DIR is not changed, and syncd gets copies, which take no
space where the file system can clone files. With --move, the needed files leave DIR:
syncd renames those that no other program can write into, and copies and removes the
others. It moves nothing out of the data_dir or an export of a syncd. A running sync
gives up downloads of files that DIR has.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 && len(req.Manifests) == 0 {
				return cli.Usagef("`syncd adopt` takes one folder, not %s and %s", args[0], args[1])
			}
			req.Manifests = append(req.Manifests, args[1:]...)
			var err error
			if req.Folder, err = filepath.Abs(args[0]); err != nil {
				return err
			}
			return work[request.Adopt, report.Adoption]{
				operation: operation.Adopt, check: named(req.Manifests), progress: true, asJSON: asJSON,
				text: lines(terminal.PrintAdoption), errors: terminal.PrintAdoptionErrors, isOK: report.Adoption.OK,
			}.run(cmd.Context(), a, req)
		},
	}
	cmd.Flags().StringSliceVar(&req.Manifests, "manifest", nil, "adopt only for these manifests")
	cmd.Flags().BoolVar(&req.Move, "move", false, "take the needed files out of DIR")
	cmd.Flags().BoolVar(&req.Force, "force", false, "also for a release that has expired")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
