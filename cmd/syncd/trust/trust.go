package trust

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/disk/fsops"
	"syncd/internal/downstream/trust"
)

// Command is `syncd trust`.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "trust", Short: "Make and check keys, trust texts and signatures",
		Long: `Make and check keys, trust texts and signatures.

A trust text names the keys of an origin, and how many of them must sign. It is signed by
the keys that it names, so that a host that has one version finds its way to the next.
Keep each private key in a place of its own.`,
	}
	cmd.AddCommand(keygenCommand(a), initCommand(a), addCommand(a), removeCommand(a), signCommand(a), showCommand(a), verifyCommand(a))
	return cmd
}

func keygenCommand(a *cli.App) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "keygen NAME", Short: "Make a key pair, and print the public key", Args: cli.Arguments(1, 1),
		Long: `Make a key pair. The private key goes into a new file that only its owner can read, and
the public one to standard output. NAME says whose key it is: one word.`,
		RunE: func(_ *cobra.Command, args []string) error {
			if file == "" {
				return cli.Usagef("--output is missing: name the new file of the private key")
			}
			secret, public, err := trust.GenerateKey(args[0])
			if err != nil {
				return cli.Usagef("%w", err)
			}
			if err := create(file, 0o600, secret+"\n"); err != nil {
				return err
			}
			fmt.Fprintln(a.Stdout, public)
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "the new `file` of the private key")
	return cmd
}

// lifetime is how long a trust text is believed when nothing else is said.
const lifetimeYears = 5

func initCommand(a *cli.App) *cobra.Command {
	var file, origin, expires string
	var threshold int
	cmd := &cobra.Command{
		Use: "init PUBKEY...", Short: "Write the first trust text, and print its fingerprint", Args: cli.Arguments(1, -1),
		Long: `Write the first trust text of an origin, and print its fingerprint. Nobody signs it: hosts
trust it because an operator puts it there. Compare the fingerprint over another way than
the text took; it is the SHA-256 of the file.`,
		RunE: func(_ *cobra.Command, args []string) error {
			if file == "" || origin == "" {
				return cli.Usagef("--origin and --output are needed: a name for the data, such as mirror.example.net, and the new file")
			}
			keys, err := parseKeys(args)
			if err != nil {
				return err
			}
			end, err := parseEnd(expires, time.Now().AddDate(lifetimeYears, 0, 0))
			if err != nil {
				return err
			}
			text, err := trust.New(origin, threshold, end, keys...)
			if err != nil {
				return cli.Usagef("%w", err)
			}
			if err := create(file, 0o644, string(text.Bytes())); err != nil {
				return err
			}
			fmt.Fprintln(a.Stdout, text.Fingerprint())
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&origin, "origin", "", "a `NAME` for the data of this publisher")
	flags.IntVar(&threshold, "threshold", 1, "how many keys must sign")
	flags.StringVar(&expires, "expires", "", "the last `DATE` on which the text is believed (default in five years)")
	flags.StringVarP(&file, "output", "o", "", "the new `file`")
	return cmd
}

func signCommand(a *cli.App) *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use: "sign FILE", Short: "Add signatures to a text", Args: cli.Arguments(1, 1),
		Long: `Add a signature of each key to the end of a text, such as a list of digests. Signatures
that are there already stay. FILE is replaced in one step.`,
		RunE: func(_ *cobra.Command, args []string) error {
			keys, err := readPrivate(a, files)
			if err != nil {
				return err
			}
			file, err := cli.OpenFile(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			text, perm, err := file.Read("", maxSigned)
			if err != nil {
				return err
			}
			signed, err := trust.Sign(text, keys...)
			if err != nil {
				return fmt.Errorf("%s cannot be signed: %w: it must be text that ends in a line feed", args[0], err)
			}
			return file.Replace("", perm, written(signed))
		},
	}
	keyFlag(cmd, &files)
	return cmd
}

// maxSigned is the largest text in bytes that can be signed.
const maxSigned = 4 << 20

func keyFlag(cmd *cobra.Command, files *[]string) {
	cmd.Flags().StringArrayVar(files, "key", nil, "the `file` of a private key; may be given several times")
}

// readPrivate reads the files of private keys.
func readPrivate(a *cli.App, files []string) ([]*trust.PrivateKey, error) {
	if len(files) == 0 {
		return nil, cli.Usagef("--key is missing: name the file of a private key")
	}
	var keys []*trust.PrivateKey
	for _, file := range files {
		text, info, err := fsops.ReadRegular(file, trust.MaxText)
		if err != nil {
			return nil, err
		}
		if fsops.PermOf(info)&0o077 != 0 {
			a.Warn(file + " is a private key, and its group or others can read it: chmod 600 the file")
		}
		key, err := trust.ParsePrivateKey(string(text))
		if err != nil {
			return nil, cli.Usagef("%s: %w", file, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func parseKeys(texts []string) ([]trust.Key, error) {
	keys := make([]trust.Key, len(texts))
	for i, text := range texts {
		key, err := trust.ParseKey(text)
		if err != nil {
			return nil, cli.Usagef("argument %d: %w", i+1, err)
		}
		keys[i] = key
	}
	return keys, nil
}

// parseEnd reads the last day of a text, or a time.
func parseEnd(text string, without time.Time) (time.Time, error) {
	if text == "" {
		return without, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.AddDate(0, 0, 1).Add(-time.Second), nil
	}
	end, err := cli.ParseMoment(text)
	if err != nil {
		return time.Time{}, cli.Usagef("--expires: %w", err)
	}
	return end, nil
}

// create writes a new file. It replaces none: a key or a trust may be lost for ever.
func create(name string, perm os.FileMode, text string) error {
	file, err := cli.OpenFile(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Create(perm, written([]byte(text)))
}

// written writes a text.
func written(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}
