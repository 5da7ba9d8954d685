package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ErrPrinted ends a command with exit code 1 when its output has named the cause.
var ErrPrinted = errors.New("printed")

// UsageError is a mistake on the command line.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...)}
}

// Arguments refuses fewer than least or more than most arguments, and names the
// command's form. most below 0 is no limit. Without it, cobra calls an argument of a
// command that takes none an unknown command.
func Arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args); n < least || most >= 0 && n > most {
			return Usagef("wrong number of arguments: got %d, but the form is `%s`", n, form(cmd))
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

// FlagError replaces errors that quote the standard library.
func FlagError(_ *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Errorf("--%s: %q is not a value of this flag", invalid.GetFlag().Name, invalid.GetValue())
	}
	return err
}

// PlainSwitches lets the help show a switch as --json, not as --json[=true|false], in root
// and all commands below it. Both forms still work.
func PlainSwitches(root *cobra.Command) {
	root.InitDefaultHelpFlag()
	root.InitDefaultVersionFlag()
	for _, flags := range []*pflag.FlagSet{root.Flags(), root.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "bool" {
				f.Value = plainSwitch{f.Value}
			}
		})
	}
	for _, cmd := range root.Commands() {
		PlainSwitches(cmd)
	}
}

// plainSwitch hides from the library that a flag is a switch; NoOptDefVal makes it one.
type plainSwitch struct{ pflag.Value }
