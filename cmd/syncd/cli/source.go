package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/downstream/believer"
	"syncd/internal/downstream/follower"
	"syncd/internal/engine"
	"syncd/internal/get"
	"syncd/internal/manifest"
	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
	"syncd/internal/ui/terminal"
)

// browsePatience bounds the retries of commands that a person waits for.
const browsePatience = 30 * time.Second

// Source is the release service, or a bucket in its place.
type Source interface {
	get.Provider
	ManifestList(ctx context.Context, release manifest.Release) ([]releases.ListedManifest, error)
	ManifestReleases(ctx context.Context, name string, since releases.Validators) (ids []string, now releases.Validators, notModified bool, err error)
	FileReleases(ctx context.Context, ref manifest.Reference, since releases.Validators) (ids []string, now releases.Validators, notModified bool, err error)
	Manifest(ctx context.Context, release manifest.Release, name string, share *releases.Share) (*manifest.List, error)
	Close()
}

// AskSources calls ask with the sources of the configuration in order of preference, until one
// answers; cfg.Source is that source. A person waits for it. The configuration may have no
// manifests: it helps to find names. An error of this host ends it at once, any other one is
// told before the next source is asked.
func (a *App) AskSources(ctx context.Context, ask func(cfg *config.Config, source Source) error) error {
	cfg, err := a.LoadSource()
	if err != nil {
		return err
	}
	a.WarnOf(cfg)
	if cfg.Source.Bundles != "" {
		return Usagef("source.bundles is a folder, which answers no questions: `syncd bundle show FILE` shows what a bundle has")
	}
	if _, err := a.ReadID(cfg); err != nil {
		return err
	}
	all := cfg.Sources()
	for i, of := range all {
		at := *cfg
		at.Source, at.Others = of, nil
		err = a.askSource(&at, ask)
		if err == nil || i == len(all)-1 || ctx.Err() != nil || refusal.IsLocal(err) {
			break
		}
		if !a.IsQuiet {
			a.Note(fmt.Sprintf("source %s: %s: asking source %s", of.Name, report.OneLine(err.Error()), all[i+1].Name))
		}
	}
	return err
}

func (a *App) askSource(cfg *config.Config, ask func(*config.Config, Source) error) error {
	id, err := cfg.Source.ReadID()
	if err != nil {
		return err
	}
	carrier, err := transport.New(a.ForPerson(engine.SourceConfig(cfg.Source, id)))
	if err != nil {
		return cfg.Located("source", err)
	}
	source, err := SourceOver(cfg, carrier)
	if err != nil {
		return err
	}
	defer source.Close()
	return ask(cfg, source)
}

// SourceOver returns the client of the configured source, which sends its requests through
// carrier. With a trust file, it believes as a host that sees the source for the first time.
func SourceOver(cfg *config.Config, carrier *transport.Client) (Source, error) {
	if !cfg.Source.S3.IsSet() && cfg.Source.TrustFile == "" {
		return releases.New(carrier), nil
	}
	client := follower.New(carrier, follower.Below(cfg.Source.S3.IsSet())...)
	client.In(cfg.Source.Ring)
	believes, err := believer.FromFile(cfg.Source.TrustFile, nil)
	if err != nil {
		return nil, cfg.Located("source", err)
	}
	client.Believe(believes, believer.CountOf(cfg.Source.S3.IsSet()))
	return follower.NewService(client), nil
}

// ClientConfig configures a client for commands that a person waits for.
func (a *App) ClientConfig(s config.Service, id config.Secret) transport.Config {
	return a.ForPerson(engine.ClientConfig(s, id))
}

// ForPerson adapts the configuration of a client: a person waits for it.
func (a *App) ForPerson(cfg transport.Config) transport.Config {
	cfg.UserAgent = a.UserAgent()
	if !a.Waits {
		cfg.Retry.MaxElapsed = min(cfg.Retry.MaxElapsed, browsePatience)
	}
	if !a.IsQuiet {
		shown := terminal.Retries{W: a.Stderr}
		cfg.Tell = func(_ string, t transport.Trouble) {
			if t.Err != nil {
				shown.Show(&report.Retry{Error: report.OneLine(t.Err.Error()), Attempt: t.Attempt, Since: t.Since, NextAt: t.Next})
			}
		}
	}
	return cfg
}

// AddWait adds --wait to a command, or to the commands below it.
func (a *App) AddWait(flags *pflag.FlagSet) {
	flags.BoolVar(&a.Waits, "wait", false, fmt.Sprintf("retry for as long as the daemon does (retry.max_elapsed), instead of for %s", browsePatience))
}
