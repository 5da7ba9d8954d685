package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"syncd/cmd/syncd/browse"
	"syncd/cmd/syncd/bundle"
	"syncd/cmd/syncd/call"
	"syncd/cmd/syncd/changes"
	"syncd/cmd/syncd/cli"
	"syncd/cmd/syncd/complete"
	"syncd/cmd/syncd/demo"
	"syncd/cmd/syncd/destroy"
	"syncd/cmd/syncd/estimate"
	"syncd/cmd/syncd/trust"
	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
	"syncd/internal/config/document"
	"syncd/internal/report/request"
)

// run is the whole program. It returns the exit code and never exits by itself.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	a := cli.New(cli.Options{
		Getenv: getenv, Args: args, Stdout: stdout, Stderr: stderr,
		Version: version(), Built: buildTime(), DefaultConfig: here.config,
	})
	log.SetFlags(0)
	log.SetOutput(cli.NewLibraryLog(a.Secrets, func(line []byte) { _, _ = a.Stderr.Write(line) }))
	root := newRoot(a)
	root.SetArgs(args)
	started := false // a command is running, so an error is no longer about usage
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	command, err := root.ExecuteContextC(ctx)
	code := exitCode(err, started)
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		err = errInterrupted
	}
	switch {
	case err == nil || errors.Is(err, cli.ErrPrinted):
	case a.IsDaemon && !a.Stderr.IsTerminal():
		log := a.Logger(zerolog.InfoLevel)
		log.Error().Err(err).Msg("ended")
	default:
		fmt.Fprintf(a.Stderr, "syncd: %v\n", err)
		if started && isUnreachable(err) {
			fmt.Fprintln(a.Stderr, "Run 'syncd doctor' to find the cause.")
		}
		if code == exitUsage && !started {
			fmt.Fprintf(a.Stderr, "Run '%s --help' for usage.\n", command.CommandPath())
		}
	}
	a.End()
	return code
}

// isUnreachable is true when a server gave no answer, or one that no service gives.
func isUnreachable(err error) bool {
	var failed *transport.Error
	return errors.As(err, &failed) && (failed.Status == 0 || failed.Status == http.StatusNotFound && failed.Type == "")
}

func newRoot(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:           "syncd",
		Short:         "Keeps a local, proven copy of a provider's reference data.",
		Long:          longHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
	}
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetVersionTemplate("syncd {{.Version}}\n")
	root.PersistentFlags().StringVar(&a.ConfigPath, "config", "", "configuration file (default $SYNCD_CONFIG, else "+here.config+")")
	for _, command := range []func(*cli.App) *cobra.Command{
		syncCommand, statusCommand, explainCommand, historyCommand, verifyCommand, rollbackCommand, probeCommand,
		activateCommand, pinCommand, unpinCommand, holdCommand, skipCommand, forgetCommand, destroy.Command, destroy.ListCommand, publishCommand, adoptCommand,
		lockCommand, deliveriesCommand, servedCommand, fleetCommand, serveCommand, bundle.Command, trust.Command,
		browse.ReleasesCommand, browse.ManifestsCommand, browse.FilesCommand, changes.Command, estimate.Command, mapCommand, getCommand, call.Command,
		emulatorCommand, demo.Command, configCommand, versionCommand, healthcheckCommand,
	} {
		root.AddCommand(command(a))
	}
	root.AddCommand(linuxCommands(a)...)
	root.InitDefaultCompletionCmd()
	here.limit(root)
	cli.AddGroups(root)
	complete.Add(a, root)
	cli.PlainSwitches(root)
	for _, cmd := range root.Commands() {
		if !cmd.Runnable() {
			cmd.RunE = needSubcommand
		}
	}
	return root
}

// needSubcommand refuses an unknown subcommand. By default, cobra prints the help
// and exits with 0.
func needSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return cli.Usagef("unknown command %q for %q: see `%s --help`", args[0], cmd.CommandPath(), cmd.CommandPath())
}

const longHelp = `syncd keeps a local mirror of a provider's manifests current. It downloads only
what changed, checks every file against the provider's Hash endpoints, and
switches to the new data in one atomic step. Readers follow <data_dir>/current.

To try it without configuration, network or licence:  syncd demo

Exit codes:
  0  done
  1  failed or refused, the old data stays in place; or damage was found
  2  usage or configuration error`

// Exit codes of the contract.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// errInterrupted replaces the cause of a context that a signal ended.
var errInterrupted = errors.New("interrupted")

// exitCode is the only place that turns an error into an exit code. An
// error before a command has started is one of usage.
func exitCode(err error, started bool) int {
	var usage *cli.UsageError
	var setting *document.Error
	var unknown *request.UnknownManifestError
	var input *service.InputError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage), errors.As(err, &setting), errors.As(err, &unknown), errors.As(err, &input), !started:
		return exitUsage
	}
	return exitFailed
}
