package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// arguments refuses fewer than least or more than most arguments, and names the
// command's form. most below 0 is no limit. Without it, cobra calls an argument of a
// command that takes none an unknown command.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args); n < least || most >= 0 && n > most {
			return usagef("wrong number of arguments: got %d, but the form is `%s`", n, form(cmd))
		}
		return nil
	}
}

// form is the command with its arguments, without flags.
func form(cmd *cobra.Command) string {
	if cmd.HasParent() {
		return cmd.Parent().CommandPath() + " " + cmd.Use
	}
	return cmd.Use
}

// flagError replaces errors that quote the standard library.
func flagError(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return fmt.Errorf("--%s: %q is not a value of this flag", invalid.GetFlag().Name, invalid.GetValue())
	}
	return err
}
