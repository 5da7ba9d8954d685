package destroy

import (
	"fmt"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/disk/durable"
	"syncd/internal/mirror"
	"syncd/internal/mirror/destroy"
	"syncd/internal/report"
	"syncd/internal/ui/terminal"
)

// ListCommand is syncd destroyed.
func ListCommand(a *cli.App) *cobra.Command {
	var name string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "destroyed", Short: "List what was destroyed on this host", Args: cli.Arguments(0, 0),
		Long: `List the records of destroyed revisions, the oldest first: when and why each went, which
contents are gone, which stayed because another revision shares them, and which programs
had files of it open. The records lie apart from the state database and outlive it.`,
		RunE: func(*cobra.Command, []string) error {
			list, err := recorded(a, name)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(list)
			}
			shown, err := report.VisibleCopy(list)
			if err != nil {
				return err
			}
			return terminal.PrintDestructions(a.Stdout, shown)
		},
	}
	cmd.Flags().StringVar(&name, "manifest", "", "only those of this `manifest`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// recorded reads the records from the disk, with or without a daemon.
func recorded(a *cli.App, name string) ([]destroy.Destruction, error) {
	cfg, err := a.LoadAndWarn()
	if err != nil {
		return nil, err
	}
	m, err := mirror.Open(cfg.DataDir, &durable.Disk{})
	if m.Root() == nil && err == nil {
		err = fmt.Errorf("data_dir %s does not exist: run `syncd sync`", cfg.DataDir)
	}
	if m.Root() == nil {
		return nil, err
	}
	defer m.Close() //nolint:errcheck // it was only read
	return destroy.NewLedger(m.Root(), nil).Destructions(name)
}
