package demo

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/config"
	"syncd/internal/emulator"
	"syncd/internal/engine"
	"syncd/internal/engine/operation"
	"syncd/internal/manifest"
	"syncd/internal/report/request"
	"syncd/internal/ui/terminal"
	"syncd/internal/verify"
)

// Command returns `syncd demo`.
func Command(a *cli.App) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "demo", Short: "Show a mirror at work, without configuration, network or licence", Args: cli.Arguments(0, 0),
		Long: `Run a provider on loopback and mirror it: a first sync, a new release while a
program reads the old one, a corrupted download, a rollback and a verification.
The demo explains each step, ends by itself and keeps its data directory.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), a, dir) },
	}
	cmd.Flags().StringVar(&dir, "dir", "", "empty folder for the data (default: a new temporary folder)")
	return cmd
}

// run does the steps; each does what a command or the daemon does.
func run(ctx context.Context, a *cli.App, dir string) error {
	provider, err := emulator.Start(emulator.Config{CustomerID: "DEMO-CUSTOMER"})
	if err != nil {
		return err
	}
	defer provider.Close()
	provider.AddSample()
	cfg, err := demoConfig(provider, dir)
	if err != nil {
		return err
	}
	e, err := a.OpenEngine(cfg, a.Logger(zerolog.WarnLevel), prometheus.NewRegistry())
	if err != nil {
		return err
	}
	defer e.Close()
	d := &demonstration{App: a, provider: provider, engine: e, dir: cfg.DataDir}
	d.say("A provider of reference data runs on %s, its download host on %s.", provider.URL(), provider.DownloadURL())
	for _, step := range []func(context.Context) error{
		d.firstSync, d.nothingNew, d.newRelease, d.corrupted, d.rollback, d.verify,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	d.say("The demo is over. `syncd run` does the same by schedule. The data directory stays in %s", cfg.DataDir)
	return nil
}

func demoConfig(provider *emulator.Emulator, dir string) (*config.Config, error) {
	if dir == "" {
		temp, err := os.MkdirTemp("", "syncd-demo-")
		if err != nil {
			return nil, err
		}
		dir = temp
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, cli.Usagef("--dir %s is not empty: name an empty or a new folder", dir)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	cfg := config.Default()
	cfg.DataDir = dir
	if cfg.Source.URL, err = url.Parse(provider.URL()); err != nil {
		return nil, err
	}
	cfg.Source.Credential = config.FixedCredential("DEMO-CUSTOMER")
	for _, name := range []string{"dq_addr_data", "dq_addr_bins"} {
		cfg.Manifests = append(cfg.Manifests, config.Manifest{Name: name, Release: "latest", Schedule: cfg.Schedule})
	}
	return cfg, nil
}

// demonstration is a running demo.
type demonstration struct {
	*cli.App
	provider *emulator.Emulator
	engine   *engine.Engine
	dir      string
	step     int
}

func (d *demonstration) say(format string, args ...any) {
	fmt.Fprintf(d.Stdout, "\n"+format+"\n", args...)
}

func (d *demonstration) headline(text string) {
	d.step++
	d.say("%d. %s", d.step, text)
}

// sync does one sync and prints its outcome.
func (d *demonstration) sync(ctx context.Context) error {
	result, err := operation.Sync.Do(ctx, d.engine.Operations(), request.Sync{Demand: true, Trigger: "demo"})
	if err != nil {
		return err
	}
	terminal.PrintSync(d.Stdout, result, false)
	terminal.PrintErrors(d.Stderr, result)
	if !result.OK() {
		return cli.ErrPrinted
	}
	target, err := os.Readlink(filepath.Join(d.dir, "current"))
	if err != nil {
		return err
	}
	fmt.Fprintf(d.Stdout, "current -> %s\n", target)
	return nil
}

func (d *demonstration) firstSync(ctx context.Context) error {
	d.headline("The first sync chooses the newest release, downloads its files, checks each against its Hash endpoint, and publishes them.")
	if err := d.sync(ctx); err != nil {
		return err
	}
	root := filepath.Join(d.dir, "current") + string(filepath.Separator)
	return filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Type()&os.ModeSymlink != 0 {
			return d.listRevision(root, entry.Name())
		}
		return nil
	})
}

func (d *demonstration) listRevision(root, name string) error {
	return filepath.WalkDir(filepath.Join(root, name)+string(filepath.Separator), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		shown, err := filepath.Rel(d.dir, path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(d.Stdout, "  %8s  %s\n", humanize.IBytes(uint64(info.Size())), shown)
		return err
	})
}

func (d *demonstration) nothingNew(ctx context.Context) error {
	d.headline("The second sync asks for the digests again. Nothing is new, so it downloads and publishes nothing.")
	return d.sync(ctx)
}

func (d *demonstration) newRelease(ctx context.Context) error {
	path := filepath.Join(d.dir, "current", "dq_addr_data", "mdAddr.dat")
	reader, err := os.Open(path)
	if err != nil {
		return err
	}
	defer reader.Close()
	release := d.provider.AdvanceSample()
	d.headline(fmt.Sprintf("The provider publishes %s, in which mdAddr.dat and one library changed. A program has the old mdAddr.dat open.", release))
	if err := d.sync(ctx); err != nil {
		return err
	}
	old, err := verify.Reader(ctx, reader, manifest.SHA256)
	if err != nil {
		return err
	}
	again, err := os.Open(path)
	if err != nil {
		return err
	}
	defer again.Close()
	now, err := verify.Reader(ctx, again, manifest.SHA256)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.Stdout, "The program still reads the whole old file (sha256 %.12s…).\nOpening it again gives the new one (sha256 %.12s…).\n", old.Object().ID, now.Object().ID)
	return nil
}

func (d *demonstration) corrupted(ctx context.Context) error {
	release := d.provider.AdvanceSample()
	d.provider.AddFault(emulator.Fault{Kind: emulator.KindCorrupt, Host: emulator.HostDownload, Times: 1})
	d.headline(fmt.Sprintf("The provider publishes %s, and the network flips one bit of a file.", release))
	if err := d.sync(ctx); err != nil {
		return err
	}
	fmt.Fprintln(d.Stdout, "The digest did not match, so syncd downloaded the file again. The damaged bytes were never published.")
	return nil
}

func (d *demonstration) rollback(ctx context.Context) error {
	d.headline("An operator distrusts the new release and runs syncd rollback.")
	result, err := operation.Rollback.Do(ctx, d.engine.Operations(), request.Rollback{})
	if err != nil {
		return err
	}
	terminal.PrintRollback(d.Stdout, result)
	fmt.Fprintln(d.Stdout, "The next sync keeps it, until the provider has something newer:")
	return d.sync(ctx)
}

func (d *demonstration) verify(ctx context.Context) error {
	d.headline("syncd verify reads every published byte again.")
	result, err := operation.Repair.Do(ctx, d.engine.Operations(), request.Verify{})
	if err != nil {
		return err
	}
	terminal.PrintVerification(d.Stdout, result)
	if !result.OK() {
		return cli.ErrPrinted
	}
	return nil
}
