package bundle

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/downstream/bundle"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/ui/terminal"
)

// Command is syncd bundle.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "bundle", Short: "Carry what is served on a disk, to a network that no wire reaches",
		Long: `Carry what is served on a disk, to a network that no wire reaches.

  near$ syncd bundle export /media/out
  far$  syncd bundle import /media/in/syncd-*.tar

A bundle is a tar of texts and contents. The same data gives the same bytes. The far side
proves each byte, and takes it like any other source: in one step, with gates, windows,
history and rollback.`,
	}
	cmd.AddCommand(exportCommand(a), receiptCommand(a), showCommand(a), importCommand(a))
	return cmd
}

func showCommand(a *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show FILE...", Short: "Show what a bundle has", Args: cli.Arguments(1, -1),
		Long: `Show what a bundle has, without reading its contents: manifests, volumes, and what its
signature says. Nothing is proven; 'syncd bundle import --dry-run' does that. Give all
volumes, in any order.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			files, closeFiles, err := bundle.OpenFiles(args)
			if err != nil {
				return err
			}
			defer closeFiles()
			b, err := bundle.Open(cmd.Context(), files, bundle.Texts)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(b.Summary())
			}
			shown, err := report.VisibleCopy(b.Summary())
			if err == nil {
				printSummary(a.Stdout, shown)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func printSummary(w io.Writer, s bundle.Summary) {
	fmt.Fprintf(w, "generation %d of %s, published %s\n", s.Generation, s.Publisher, report.Moment(s.PublishedAt.Local()))
	if s.Signed == nil {
		fmt.Fprintln(w, "unsigned")
	} else {
		fmt.Fprintf(w, "signed for %s, to be believed until %s\n", s.Signed.Origin, report.Moment(s.Signed.Expires.Local()))
	}
	for _, m := range s.Manifests {
		fmt.Fprintf(w, "%s  release %s  %d files, %s\n", m.Name, m.Release, m.Files, humanize.IBytes(uint64(m.Bytes)))
	}
	fmt.Fprintf(w, "%d contents, %s, in %s\n", s.Contents, humanize.IBytes(uint64(s.Bytes)), english.Plural(len(s.Volumes), "file", ""))
	if !s.Since.IsZero() {
		fmt.Fprintln(w, "without the contents of a receipt: only for the host that made it")
	}
}

func importCommand(a *cli.App) *cobra.Command {
	var req request.Import
	var asJSON, quiet bool
	cmd := &cobra.Command{
		Use: "import FILE...", Short: "Take what a bundle has, like a sync", Args: cli.Arguments(1, -1),
		Long: `Prove each byte of a bundle, then sync the configured manifests that it has, from it. A
running daemon does both, so its user must be able to read the files. Give all volumes, in
any order. A volume that is missing, cut or damaged, an older bundle and one of another
origin are refused, and the old data stays.

With source.trust_file, the bundle must be signed by those keys. Without it, --unsigned is
needed.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.LoadAndWarn()
			if err != nil {
				return err
			}
			req.Files = nil
			for _, file := range args {
				path, err := filepath.Abs(file)
				if err != nil {
					return err
				}
				req.Files = append(req.Files, path)
			}
			result, err := cli.Do(cmd.Context(), a, cfg, operation.Import, req, !quiet)
			if err != nil && len(result.Manifests) == 0 {
				return err
			}
			return printImport(a, result, req.DryRun, asJSON, quiet, err)
		},
	}
	cmd.Flags().BoolVar(&req.Unsigned, "unsigned", false, "believe the bundle without a signature")
	cmd.Flags().BoolVar(&req.Force, "force", false, "override the guards, and take a bundle that is older or of another publisher")
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "prove the bundle, show what would be done, and change nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "print nothing but errors")
	return cmd
}

func printImport(a *cli.App, result report.Sync, dryRun, asJSON, quiet bool, err error) error {
	shown, copyErr := report.VisibleCopy(result)
	if copyErr != nil {
		return copyErr
	}
	switch {
	case asJSON:
		if printErr := a.PrintJSON(result); err == nil {
			err = printErr
		}
	case !quiet:
		terminal.PrintSync(a.Stdout, shown, dryRun)
	}
	terminal.PrintErrors(a.Stderr, shown)
	if err == nil && !result.OK() {
		err = cli.ErrPrinted
	}
	return err
}
