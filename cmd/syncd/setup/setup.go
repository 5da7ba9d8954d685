//go:build linux

package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/clients/releases"
	"syncd/internal/config"
	"syncd/internal/disk/fsops"
	"syncd/internal/doctor"
	"syncd/internal/host/unitfile"
)

// Doctor makes the checks of `syncd doctor`, and shows what each one finds.
type Doctor func(ctx context.Context, a *cli.App, user string, show func([]doctor.Finding)) doctor.Report

// Command returns `syncd setup`.
func Command(a *cli.App, check Doctor) *cobra.Command {
	return &cobra.Command{
		Use: "setup", Short: "Ask for address, Customer ID and manifest, and write the configuration", Args: cli.Arguments(0, 0),
		Long: `Ask for the address of the provider's release service, for the Customer ID and for a
manifest of those that the provider offers, run the checks of syncd doctor, and write
the configuration to the path of --config. An existing file is never changed.

The Customer ID is stored in the file from which the systemd unit loads it, otherwise
in customer_id beside the configuration, with mode 600. It is never printed. One that
the environment sets already is used from there and not stored.

Without a terminal, the answers are lines on standard input: address, Customer ID,
and names or numbers of manifests. An empty line or the end of the input means the
default: the Customer ID of the environment, the first manifest.

  printf '%s\n' https://releases.example.net "$ID" dq_addr_data | syncd setup`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := newQuestions(cmd.InOrStdin())
			defer q.close()
			s := &setup{App: a, questions: q}
			return s.run(cmd.Context(), check)
		},
	}
}

// setup is one run of the command.
type setup struct {
	*cli.App
	*questions

	address   string
	draft     *config.Config // of the address alone
	id        config.Secret
	isInShell bool // the environment gives the Customer ID
	listed    []releases.ListedManifest
	manifests []string
}

func (s *setup) run(ctx context.Context, check Doctor) error {
	path, err := filepath.Abs(s.ConfigFile())
	if err != nil {
		return err
	}
	if err := checkNew(path); err != nil {
		return err
	}
	if s.isTerminal() {
		fmt.Fprintln(s.Stdout, "The provider names both with the subscription: an address such as\nhttps://releases.example.net, and the Customer ID, also called licence.")
	}
	for _, step := range []func(context.Context) error{s.askAddress, s.askID, s.askManifests} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	s.close() // no more questions: the terminal echoes again
	files := &written{}
	defer files.close()
	if err := s.write(files, path); err != nil {
		return err
	}
	return s.finish(ctx, files, check)
}

// checkNew refuses a file that exists, and a folder in which none can be made, before the
// first question.
func checkNew(path string) error {
	_, err := os.Lstat(path)
	dir := filepath.Dir(path)
	switch {
	case err == nil:
		return cli.Usagef("%s exists, and setup never changes a file: edit it, move it away, or name another one with --config", path)
	case !errors.Is(err, fs.ErrNotExist):
		return cli.Usagef("%w: name another file with --config", err)
	}
	if _, err := os.Stat(dir); err != nil {
		return cli.Usagef("%w: make the folder first: `install -d %s`", err, dir)
	}
	if err := fsops.CheckWritable(dir); err != nil {
		return cli.Usagef("%s: %w: run this as root, or name a file of yours with --config", dir, err)
	}
	return nil
}

// text is the configuration. idFile is the value of customer_id_file, "" for none.
func (s *setup) text(idFile string) string {
	text := fmt.Sprintf("source: {url: %q", s.address)
	if idFile != "" {
		text += ", customer_id_file: " + idFile
	}
	text += "}\nmanifests:\n"
	for _, name := range s.manifests {
		text += "  - name: " + name + "\n"
	}
	return text
}

// write writes the Customer ID and then the configuration. After an error, nothing is left.
func (s *setup) write(files *written, path string) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, files.remove())
		}
	}()
	key := ""
	if !s.isInShell {
		file, _ := unitfile.IDFile(path, unitfile.Dirs(s.Getenv))
		if file == "" {
			key = "customer_id"
			file = filepath.Join(filepath.Dir(path), key)
		}
		if err := files.addID(file, s.id); err != nil {
			return err
		}
	}
	text := s.text(key)
	if _, err := s.Draft(text); err != nil {
		return err
	}
	// The daemon's user must be able to read it, and it holds no secret.
	return files.add(path, 0o644, text)
}

// finish runs the checks. An interruption takes everything back.
func (s *setup) finish(ctx context.Context, files *written, check Doctor) error {
	fmt.Fprintf(s.Stdout, "\nThe checks of syncd doctor:\n")
	failures := 0
	check(ctx, s.App, "", func(found []doctor.Finding) {
		for _, f := range found {
			f.Print(s.Stdout)
			if f.Severity == doctor.Failure {
				failures++
			}
		}
	})
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), files.remove())
	}
	fmt.Fprintln(s.Stdout)
	for _, path := range files.paths {
		fmt.Fprintf(s.Stdout, "wrote %s\n", path)
	}
	if failures > 0 {
		fmt.Fprintf(s.Stdout, "%s above: mend that first, and run `syncd doctor` again\n", english.Plural(failures, "failure", ""))
	}
	_, err := io.WriteString(s.Stdout, s.next())
	return err
}

// next says how to begin.
func (s *setup) next() string {
	if u, err := unitfile.Find(unitfile.Name, unitfile.Dirs(s.Getenv)); err == nil && !u.IsMasked {
		environ, _ := u.Environment() // a file that cannot be read names no other configuration
		if unitfile.IsSameFile(u.ConfigFile(environ), s.ConfigFile()) {
			return "next: systemctl enable --now syncd\n"
		}
	}
	return fmt.Sprintf("next: syncd --config %s sync, or run in its place for a mirror that stays current\n", s.ConfigFile())
}
