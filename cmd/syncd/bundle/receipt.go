package bundle

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/disk/durable"
	"syncd/internal/downstream/bundle"
	"syncd/internal/manifest"
	"syncd/internal/mirror"
)

func receiptCommand(a *cli.App) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "receipt", Short: "Write what this host has, so that the next bundle leaves it out", Args: cli.Arguments(0, 0),
		Long: `Write the digests of all contents that this host serves. Carry the file to the other
side, where 'syncd bundle export --since FILE' leaves them out. Such a bundle is for this
host only.`,
		RunE: func(*cobra.Command, []string) error {
			receipt, err := receiptOf(a)
			if err != nil {
				return err
			}
			if file == "" {
				return receipt.Write(a.Stdout.Plain())
			}
			if err := cli.ReplaceFile(file, 0o644, receipt.Write); err != nil {
				return err
			}
			fmt.Fprintf(a.Stdout, "%s: %d contents\n", file, receipt.Len())
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this `file` instead of standard output")
	return cmd
}

// receiptOf names what is served. Pruning removes nothing of that before the next bundle.
func receiptOf(a *cli.App) (bundle.Receipt, error) {
	cfg, err := a.LoadAndWarn()
	if err != nil {
		return bundle.Receipt{}, err
	}
	m, err := mirror.Open(cfg.DataDir, &durable.Disk{})
	if err != nil {
		return bundle.Receipt{}, err
	}
	defer m.Close() //nolint:errcheck // it was only read
	var contents []manifest.ObjectID
	for _, r := range m.Current().Records {
		for _, f := range r.Files {
			contents = append(contents, f.Object)
		}
	}
	if len(contents) == 0 {
		return bundle.Receipt{}, errors.New("nothing is served, so a whole bundle is needed: export without --since")
	}
	host, err := os.Hostname()
	if err != nil {
		return bundle.Receipt{}, err
	}
	return bundle.NewReceipt(host, contents)
}
