package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"syncd/internal/clients/releases"
	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/config/document"
	"syncd/internal/downstream/follower"
	"syncd/internal/engine"
	"syncd/internal/get"
	"syncd/internal/host/unitfile"
	"syncd/internal/manifest"
	"syncd/internal/report/request"
	"syncd/internal/ui/terminal"
)

// browsePatience bounds the retries of commands that a person waits for.
const browsePatience = 30 * time.Second

// app is shared by all commands.
type app struct {
	getenv     func(string) string
	stdout     *redactingWriter
	stderr     *redactingWriter
	secrets    *secrets
	args       []string
	configPath string
	endings    []func() // called once the command has printed everything

	deliverLast bool // hooks are told nothing before the command's work is done

	started bool // a command is running, so an error is no longer about usage
	daemon  bool // stderr is a log: each line is JSON, unless it is a terminal
}

// run is the whole program. It returns the exit code and never exits by itself.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	secrets := &secrets{}
	a := &app{
		getenv: getenv, args: args, secrets: secrets,
		stdout: &redactingWriter{stdout, secrets.redact},
		stderr: &redactingWriter{stderr, secrets.redact},
	}
	secrets.warn = a.warn
	log.SetFlags(0)
	log.SetOutput(newLibraryLog(secrets, func(line []byte) { _, _ = stderr.Write(line) }))
	root := a.root()
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	code := a.exitCode(err)
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		err = errInterrupted
	}
	switch {
	case err == nil || errors.Is(err, errPrinted):
	case a.daemon && !a.stderr.isTerminal():
		log := a.logger(zerolog.InfoLevel)
		log.Error().Err(err).Msg("ended")
	default:
		fmt.Fprintf(a.stderr, "syncd: %v\n", err)
		if a.started && isUnreachable(err) {
			fmt.Fprintln(a.stderr, "Run 'syncd doctor' to find the cause.")
		}
		if code == exitUsage && !a.started {
			fmt.Fprintf(a.stderr, "Run '%s --help' for usage.\n", command.CommandPath())
		}
	}
	for _, end := range a.endings {
		end()
	}
	return code
}

// isUnreachable is true when a server gave no answer, or one that no service gives.
func isUnreachable(err error) bool {
	var failed *transport.Error
	return errors.As(err, &failed) && (failed.Status == 0 || failed.Status == http.StatusNotFound && failed.Type == "")
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "syncd",
		Short:         "Keeps a local, proven copy of a provider's reference data.",
		Long:          longHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		PersistentPreRun: func(*cobra.Command, []string) {
			a.started = true
		},
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	root.SetVersionTemplate("syncd {{.Version}}\n")
	root.PersistentFlags().StringVar(&a.configPath, "config", "", "configuration file (default $SYNCD_CONFIG, else "+here.config+")")
	root.AddCommand(
		a.syncCommand(), a.statusCommand(), a.explainCommand(), a.historyCommand(), a.verifyCommand(), a.rollbackCommand(),
		a.activateCommand(), a.pinCommand(), a.unpinCommand(), a.holdCommand(), a.skipCommand(), a.forgetCommand(), a.publishCommand(), a.adoptCommand(),
		a.lockCommand(), a.deliveriesCommand(), a.servedCommand(), a.fleetCommand(), a.serveCommand(),
		a.releasesCommand(), a.manifestsCommand(), a.filesCommand(), a.mapCommand(), a.getCommand(), a.callCommand(),
		a.emulatorCommand(), a.demoCommand(), a.configCommand(), a.versionCommand(), a.healthcheckCommand(),
	)
	root.AddCommand(a.linuxCommands()...)
	root.InitDefaultCompletionCmd()
	here.limit(root)
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
	return usagef("unknown command %q for %q: see `%s --help`", args[0], cmd.CommandPath(), cmd.CommandPath())
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

// errPrinted ends a command with exit code 1 when its output has named the cause.
var errPrinted = errors.New("printed")

// errInterrupted replaces the cause of a context that a signal ended.
var errInterrupted = errors.New("interrupted")

// usageError is a mistake on the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

// exitCode is the only place that turns an error into an exit code.
func (a *app) exitCode(err error) int {
	var usage *usageError
	var setting *document.Error
	var unknown *request.UnknownManifestError
	var input *service.InputError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage), errors.As(err, &setting), errors.As(err, &unknown), errors.As(err, &input), !a.started:
		return exitUsage
	}
	return exitFailed
}

// load reads the configuration.
func (a *app) load() (*config.Config, error) {
	return config.Load(a.configFile(), a.environment())
}

func (a *app) environment() config.Environment {
	return config.Environment{Getenv: a.getenv, UnitCredential: func(configFile string) string {
		return unitfile.IDFile(configFile, unitfile.Dirs(a.getenv))
	}}
}

func (a *app) configFile() string {
	return cmp.Or(a.configPath, a.getenv("SYNCD_CONFIG"), here.config)
}

// loadAndWarn is load for one-shot commands: it prints warnings to stderr.
func (a *app) loadAndWarn() (*config.Config, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, err
	}
	a.warnOf(cfg)
	return cfg, nil
}

// warnOf prints what is unsafe about a configuration.
func (a *app) warnOf(cfg *config.Config) {
	for _, line := range cfg.Warnings() {
		a.warn(line)
	}
}

// noteOf prints what may surprise in a configuration.
func (a *app) noteOf(cfg *config.Config) {
	for _, line := range cfg.Notes() {
		fmt.Fprintf(a.stderr, "syncd: note: %s\n", line)
	}
}

func (a *app) warn(message string) { fmt.Fprintf(a.stderr, "syncd: warning: %s\n", message) }

// readID reads the Customer ID and keeps it in cfg. It must run before becomeOwner:
// the owner of the data directory may not be able to read it.
func (a *app) readID(cfg *config.Config) (config.Secret, error) {
	id, err := cfg.Source.ReadID()
	if err != nil {
		return "", err
	}
	if !a.daemon { // it has logged them
		a.noteOf(cfg)
	}
	a.secrets.add(id.Reveal())
	if id != "" {
		cfg.Source.Credential = config.FixedCredential(id)
	}
	return id, nil
}

// readSecrets reads the Customer ID and the secrets of hooks, as readID.
func (a *app) readSecrets(cfg *config.Config) error {
	if _, err := a.readID(cfg); err != nil {
		return err
	}
	return cfg.ReadHookSecrets()
}

// source is the release service, or a bucket in its place.
type source interface {
	get.Provider
	ManifestList(ctx context.Context, release manifest.Release) ([]releases.Entry, error)
	ManifestReleases(ctx context.Context, name string, since releases.Validators) (ids []string, now releases.Validators, notModified bool, err error)
	FileReleases(ctx context.Context, ref manifest.Reference, since releases.Validators) (ids []string, now releases.Validators, notModified bool, err error)
	Manifest(ctx context.Context, release manifest.Release, name string, share *releases.Share) (*manifest.List, error)
	Close()
}

// connect returns a client of the source for commands that a person waits for. Their
// configuration may have no manifests: they help to find names.
func (a *app) connect() (*config.Config, source, error) {
	cfg, err := config.LoadSource(a.configFile(), a.environment())
	if err != nil {
		return nil, nil, err
	}
	a.warnOf(cfg)
	id, err := a.readID(cfg)
	if err != nil {
		return nil, nil, err
	}
	carrier, err := transport.New(forPerson(engine.SourceConfig(cfg.Source, id)))
	if err != nil {
		return nil, nil, err
	}
	return cfg, sourceOver(cfg, carrier), nil
}

// sourceOver returns the client of the configured source, which sends its requests through
// carrier.
func sourceOver(cfg *config.Config, carrier *transport.Client) source {
	if cfg.Source.S3.IsSet() {
		return follower.NewService(follower.New(carrier))
	}
	return releases.New(carrier)
}

// clientConfig configures a client for commands that a person waits for.
func clientConfig(s config.Service, id config.Secret) transport.Config {
	return forPerson(engine.ClientConfig(s, id))
}

func forPerson(cfg transport.Config) transport.Config {
	cfg.UserAgent = userAgent()
	cfg.Retry.MaxElapsed = min(cfg.Retry.MaxElapsed, browsePatience)
	return cfg
}

// logger writes JSON, or readable lines when stderr is a terminal.
func (a *app) logger(level zerolog.Level) zerolog.Logger {
	var out io.Writer = a.stderr
	if a.stderr.isTerminal() {
		out = zerolog.ConsoleWriter{Out: a.stderr, TimeFormat: time.TimeOnly}
	}
	return zerolog.New(out).Level(level).With().Timestamp().Logger()
}

// progress shows the progress of a sync on stderr.
func (a *app) progress(quiet bool) terminal.Progress {
	if quiet {
		return terminal.Silent{}
	}
	out := a.stderr.w
	if !a.stderr.isTerminal() {
		out = a.stderr // bars need the terminal itself, lines pass the redaction
	}
	return terminal.NewProgress(out, a.secrets.redact)
}
