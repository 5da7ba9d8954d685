package main

import (
	"errors"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config/migration"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest/layout"
)

func fromUpdaterCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "from-updater [FILE]", Short: "Turn command lines of the provider's updater into a configuration", Args: cli.Arguments(0, 1),
		Long: `Read command lines of the provider's updater and print the configuration that does
the same. FILE is a crontab, a script or one line; without it, standard input is read.
Nothing is started. A licence in the lines is never printed: customer_id_file names
the file to put it into.

  crontab -l | syncd config from-updater > syncd.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readLines(cmd.InOrStdin(), args)
			if err != nil {
				return err
			}
			converted, err := migration.Convert(text, isMap)
			if err != nil {
				return cli.Usagef("%w", err)
			}
			_, err = a.Stdout.Write(converted)
			return err
		},
	}
}

// readLines reads the named file, or stdin.
func readLines(stdin io.Reader, args []string) ([]byte, error) {
	if len(args) == 0 || args[0] == "-" {
		return io.ReadAll(io.LimitReader(stdin, migration.MaxText+1))
	}
	text, _, err := fsops.ReadRegular(args[0], migration.MaxText)
	var cause *fs.PathError
	switch {
	case errors.Is(err, fsops.ErrTooLarge): // Convert refuses it
		return text, nil
	case errors.As(err, &cause):
		return nil, cli.Usagef("%s: %w: name a crontab or a script, or leave FILE out for standard input", args[0], cause.Err)
	}
	return text, err
}

// isMap is true for a map file that can be read here.
func isMap(path string) bool {
	data, _, err := fsops.ReadRegular(path, layout.MaxMap)
	if err != nil {
		return false
	}
	_, err = layout.ParseMap(data)
	return err == nil
}
