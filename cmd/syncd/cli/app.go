package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"

	"syncd/internal/config"
	"syncd/internal/host/unitfile"
	"syncd/internal/metrics/tracing"
	"syncd/internal/report"
	"syncd/internal/ui/terminal"
)

// Options are what an App is made of.
type Options struct {
	Getenv         func(string) string
	Args           []string
	Stdout, Stderr io.Writer
	Version        string
	Built          time.Time // zero when not known
	DefaultConfig  string    // the configuration file of this system
}

// App is shared by all commands of a process.
type App struct {
	Stdout, Stderr *Writer
	Secrets        *Secrets
	Args           []string
	ConfigPath     string // of --config
	IsDaemon       bool   // stderr is a log: each line is JSON, unless it is a terminal
	Waits          bool   // a one-shot command has the patience of the daemon
	IsQuiet        bool   // a one-shot command prints nothing but errors
	DeliverLast    bool   // hooks are told nothing before the command's work is done

	options Options
	endings []func()
	tracer  *tracing.Tracer // nil while tracing is off
}

// New returns an App whose outputs show no secret that it has read.
func New(o Options) *App {
	secrets := &Secrets{}
	a := &App{
		Stdout: &Writer{o.Stdout, secrets.redact, o.Getenv}, Stderr: &Writer{o.Stderr, secrets.redact, o.Getenv},
		Secrets: secrets, Args: o.Args, options: o,
	}
	secrets.Warn = a.Warn
	return a
}

// Getenv returns a variable of the environment.
func (a *App) Getenv(name string) string { return a.options.Getenv(name) }

// End does what had to wait until the command has printed everything.
func (a *App) End() {
	for _, end := range a.endings {
		end()
	}
	a.tracer.Close()
}

// UserAgent is how commands name themselves to servers.
func (a *App) UserAgent() string { return "syncd/" + a.options.Version }

// Load reads the configuration.
func (a *App) Load() (*config.Config, error) {
	return config.Load(a.ConfigFile(), a.environment())
}

// LoadSource reads a configuration that may have no manifests.
func (a *App) LoadSource() (*config.Config, error) {
	return config.LoadSource(a.ConfigFile(), a.environment())
}

// Draft reads a configuration that is not in its file yet. It may have no manifests.
func (a *App) Draft(text string) (*config.Config, error) {
	return config.ParseSource(a.ConfigFile(), []byte(text), a.environment())
}

// LoadAndWarn is Load for one-shot commands: it prints warnings to stderr.
func (a *App) LoadAndWarn() (*config.Config, error) {
	cfg, err := a.Load()
	if err == nil {
		a.WarnOf(cfg)
	}
	return cfg, err
}

func (a *App) environment() config.Environment {
	return config.Environment{Getenv: a.Getenv, UnitCredential: func(configFile string) (path, user string) {
		return unitfile.IDFile(configFile, unitfile.Dirs(a.Getenv))
	}, ChangerOf: ChangerOf}
}

// ConfigFile is the path of the configuration file.
func (a *App) ConfigFile() string {
	return cmp.Or(a.ConfigPath, a.Getenv("SYNCD_CONFIG"), a.options.DefaultConfig)
}

// WarnOf prints what is unsafe about a configuration.
func (a *App) WarnOf(cfg *config.Config) {
	for _, line := range cfg.Warnings() {
		a.Warn(line)
	}
}

// noteOf prints what may surprise in a configuration.
func (a *App) noteOf(cfg *config.Config) {
	for _, line := range cfg.Notes() {
		a.Note(line)
	}
}

// Warn prints a warning to stderr.
func (a *App) Warn(message string) { fmt.Fprintf(a.Stderr, "syncd: warning: %s\n", message) }

// Note prints a note to stderr.
func (a *App) Note(message string) { fmt.Fprintf(a.Stderr, "syncd: note: %s\n", message) }

// ReadID reads the Customer IDs of all sources, keeps them in cfg, and returns that of the first
// one. It must run before BecomeOwner: the owner of the data directory may not be able to read them.
func (a *App) ReadID(cfg *config.Config) (config.Secret, error) {
	err := cfg.EachSource(func(_ string, s *config.Source) error {
		id, err := s.ReadID()
		if err != nil || id == "" {
			return err
		}
		a.Secrets.Add(id.Reveal())
		s.Credential = s.Credential.Known(id)
		return nil
	})
	if err != nil {
		return "", err
	}
	if !a.IsDaemon { // it has logged them
		a.noteOf(cfg)
	}
	return cfg.Source.ReadID()
}

// ReadSecrets reads the Customer ID and the secrets of hooks, as ReadID.
func (a *App) ReadSecrets(cfg *config.Config) error {
	if _, err := a.ReadID(cfg); err != nil {
		return err
	}
	return cfg.ReadHookSecrets()
}

// Logger writes JSON, or lines as those of this App when stderr is a terminal.
func (a *App) Logger(level zerolog.Level) zerolog.Logger {
	var out io.Writer = a.Stderr
	if a.Stderr.IsTerminal() {
		lines := zerolog.ConsoleWriter{Out: a.Stderr.w, NoColor: !a.Stderr.HasColour(), TimeFormat: report.MomentForm}
		if !a.IsDaemon {
			lines.PartsExclude = []string{zerolog.TimestampFieldName}
			lines.FormatLevel = func(level any) string { return "syncd: " + words[fmt.Sprint(level)] + ":" }
		}
		out = console{lines, a.Secrets.redact}
	}
	return zerolog.New(out).Level(level).With().Timestamp().Logger()
}

// words are the levels of a log as Warn and Note write them.
var words = map[string]string{
	zerolog.LevelDebugValue: "note", zerolog.LevelInfoValue: "note", zerolog.LevelWarnValue: "warning", zerolog.LevelErrorValue: "error",
}

// console writes the lines of a log in colours, which Writer would make visible.
type console struct {
	to     zerolog.ConsoleWriter
	redact func([]byte) []byte
}

// Write takes one line of JSON.
func (c console) Write(line []byte) (int, error) {
	if _, err := c.to.Write(report.VisibleJSON(c.redact(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// Progress shows the progress of work on stderr.
func (a *App) Progress(isQuiet bool) terminal.Progress {
	if isQuiet {
		return terminal.Silent{}
	}
	out := a.Stderr.w
	if !a.Stderr.IsTerminal() {
		out = a.Stderr // bars need the terminal itself, lines pass the redaction
	}
	return terminal.NewProgress(out, func(name []byte) []byte { return []byte(report.VisibleLine(string(a.Secrets.redact(name)))) })
}

// PrintJSON prints a value to stdout.
func (a *App) PrintJSON(value any) error {
	encoder := json.NewEncoder(a.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
