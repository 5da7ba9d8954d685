package main

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config/migration"
	"syncd/internal/config/migration/commandline"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest/layout"
)

func fromUpdaterCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "from-updater [FILE...]", Short: "Turn command lines of the provider's updater into a configuration", Args: cli.Arguments(0, -1),
		Long: `Read command lines of the provider's updater and print the configuration that does
the same. FILE is a crontab, a script for a shell, the Windows command prompt or
PowerShell, a task (schtasks /query /tn NAME /xml), a systemd service with its timer
(systemctl cat NAME.service NAME.timer), a compose file, or one line. Without FILE, or
where FILE is -, standard input is read.

A script that FILE calls is read by its path, if it is on this host and, for root, if
every user may read it; otherwise give it as another FILE. Nothing is started. Whatever the
configuration cannot do becomes a comment that says what to do instead. A licence in the
lines is never printed: customer_id_file names the file to put it into.

  crontab -l | syncd config from-updater > syncd.yaml
  syncd config from-updater crontab.txt refdata.sh > syncd.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			texts, err := readTexts(cmd.InOrStdin(), args)
			if err != nil {
				return err
			}
			converted, err := migration.Convert(texts, called())
			if err != nil {
				return cli.Usagef("%w", err)
			}
			_, err = a.Stdout.Write(converted)
			return err
		},
	}
}

// maxFile limits a file in bytes: UTF-16 has two for each character.
const maxFile = 2*commandline.MaxText + 2

// readTexts reads the named files, or stdin.
func readTexts(stdin io.Reader, args []string) ([]commandline.Text, error) {
	if len(args) == 0 {
		args = []string{"-"}
	}
	var texts []commandline.Text
	for _, file := range args {
		text, err := readText(stdin, file)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func readText(stdin io.Reader, file string) (commandline.Text, error) {
	if file == "-" {
		data, err := io.ReadAll(io.LimitReader(stdin, maxFile+1))
		return commandline.Text{Data: data}, err
	}
	data, _, err := fsops.ReadRegular(file, maxFile)
	var cause *fs.PathError
	if errors.As(err, &cause) && !errors.Is(err, fsops.ErrTooLarge) { // Convert refuses one that is too large
		return commandline.Text{}, cli.Usagef("%s: %w: name a crontab or a script, or leave FILE out for standard input", file, cause.Err)
	}
	path, err := filepath.Abs(file)
	return commandline.Text{Name: path, Data: data}, err
}

// called reads the files that texts name. The words of a script come into the configuration,
// and a crontab may be another user's: root reads no script that only some users may read.
func called() migration.Host {
	anybody := cli.Anybody()
	readScript := func(path string) ([]byte, error) { return anybody.Read(path, maxFile) }
	return migration.Host{UsableMap: isMap, Read: readScript}
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
