package destroy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
	"syncd/internal/ui/terminal"
)

// Command is syncd destroy.
func Command(a *cli.App) *cobra.Command {
	var req request.Destroy
	var isSure, asJSON bool
	cmd := &cobra.Command{
		Use: "destroy MANIFEST RELEASE...", Short: "Destroy releases on this host for good", Args: cli.Arguments(2, -1),
		Long: `Remove everything of the named releases below data_dir and from exported folders: all
revisions that are not served, what is staged, and what an unfinished sync has brought.
Contents that another kept revision shares stay. 'retain', holds, followers and programs
with the files open do not stop it; the record names such programs.

What is served is never destroyed. 'syncd destroyed' lists the records. Only 'syncd pin' or
'syncd sync --force' fetches the same data again.

Without a terminal, --yes is needed. --dry-run shows what would go.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Manifest, req.Releases = args[0], args[1:]
			cfg, err := a.LoadAndWarn()
			if err != nil {
				return err
			}
			if !req.DryRun && !isSure {
				if isSure, err = confirm(cmd.Context(), a, cfg, req); err != nil || !isSure {
					return err
				}
			}
			return run(cmd.Context(), a, cfg, req, asJSON)
		},
	}
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "only show what would be destroyed")
	cmd.Flags().BoolVar(&isSure, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func run(ctx context.Context, a *cli.App, cfg *config.Config, req request.Destroy, asJSON bool) error {
	result, err := cli.Do(ctx, a, cfg, operation.Destroy, req, false)
	if err != nil {
		return err
	}
	if asJSON {
		err = a.PrintJSON(result)
	} else if shown, copyErr := report.VisibleCopy(result); copyErr != nil {
		err = copyErr
	} else {
		err = terminal.PrintDestroyed(a.Stdout, shown)
	}
	if err == nil && result.Upload != nil && result.Upload.Error != "" {
		err = fmt.Errorf("the bucket still has it, and the next sync tries again: %s", result.Upload.Error)
	}
	return err
}

// confirm shows what would go, and asks. It is false if there is nothing to do.
func confirm(ctx context.Context, a *cli.App, cfg *config.Config, req request.Destroy) (isSure bool, err error) {
	if !terminal.Is(os.Stdin) || !a.Stderr.IsTerminal() {
		return false, cli.Usagef("destroying cannot be undone: add --yes, or look first with --dry-run")
	}
	req.DryRun = true
	would, err := cli.Do(ctx, a, cfg, operation.Destroy, req, false)
	if err != nil {
		return false, err
	}
	shown, err := report.VisibleCopy(would)
	if err != nil {
		return false, err
	}
	if err := terminal.PrintDestroyed(a.Stderr, shown); err != nil {
		return false, err
	}
	if len(would.Destroyed) == 0 {
		return false, nil
	}
	fmt.Fprint(a.Stderr, "This cannot be undone. Type yes to go on: ")
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if strings.TrimSpace(answer) != "yes" {
		return false, errors.New("nothing was destroyed")
	}
	return true, nil
}
