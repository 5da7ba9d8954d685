package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/disk/fsops"
	"syncd/internal/downstream/trust"
)

// pending is the end of the name of a version that still lacks signatures. It lies beside
// the trust file.
const pending = ".next"

// change are the flags of commands that make the next version.
type change struct {
	file      string
	keys      []string
	threshold int
	expires   string
}

func (c *change) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.file, "trust", "", "the trust `file`")
	keyFlag(cmd, &c.keys)
	flags.IntVar(&c.threshold, "threshold", 0, "how many keys must sign from now on (default as before)")
	flags.StringVar(&c.expires, "expires", "", "the last `DATE` on which the text is believed (default as before)")
}

const changeHelp = `

The new version needs signatures of as many keys as the threshold asks, of the keys before
and of the keys behind the change. Give each with --key. Keys that lie on different hosts
sign one after the other: as long as signatures are missing, the version waits in
FILE.next, and the same command with another key adds to it.`

func addCommand(a *cli.App) *cobra.Command {
	var c change
	cmd := &cobra.Command{
		Use: "add [PUBKEY...]", Short: "Add keys to a trust text, or change its threshold or end", Args: cli.Arguments(0, -1),
		Long: `Make the next version of a trust text with further keys, or only with another threshold
or end.` + changeHelp,
		RunE: func(_ *cobra.Command, args []string) error {
			keys, err := parseKeys(args)
			if err != nil {
				return err
			}
			if len(keys) == 0 && c.threshold == 0 && c.expires == "" {
				return cli.Usagef("nothing changes: give a public key, --threshold or --expires")
			}
			return c.apply(a, func(trust.Text) (trust.Change, error) { return trust.Change{Add: keys}, nil })
		},
	}
	c.addTo(cmd)
	return cmd
}

func removeCommand(a *cli.App) *cobra.Command {
	var c change
	cmd := &cobra.Command{
		Use: "remove PUBKEY...", Short: "Remove keys from a trust text, by key or name", Args: cli.Arguments(1, -1),
		Long: `Make the next version of a trust text without some keys, by their text or their name.` + changeHelp,
		RunE: func(_ *cobra.Command, args []string) error {
			return c.apply(a, func(newest trust.Text) (change trust.Change, err error) {
				for _, name := range args {
					key, found := newest.Key(name)
					if !found {
						return change, cli.Usagef("%s has no key %q: see `syncd trust show`", c.file, name)
					}
					change.Remove = append(change.Remove, key)
				}
				return change, nil
			})
		},
	}
	c.addTo(cmd)
	return cmd
}

// apply makes or signs the next version.
func (c *change) apply(a *cli.App, what func(newest trust.Text) (trust.Change, error)) error {
	if c.file == "" {
		return cli.Usagef("--trust is missing: name the trust file")
	}
	file, err := cli.OpenFile(c.file)
	if err != nil {
		return err
	}
	defer file.Close()
	text, _, err := file.Read("", trust.MaxChain)
	if err != nil {
		return err
	}
	chain, err := parseChain(c.file, text)
	if err != nil {
		return err
	}
	wanted, err := what(chain.Newest())
	if err != nil {
		return err
	}
	wanted.Threshold = c.threshold
	if wanted.Expires, err = parseEnd(c.expires, wanted.Expires); err != nil {
		return err
	}
	keys, err := readPrivate(a, c.keys)
	if err != nil {
		return err
	}
	next, err := chain.Next(wanted)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	if next, err = c.withPending(file, next); err != nil {
		return err
	}
	if next, err = chain.SignedBy(next, keys...); err != nil {
		return cli.Usagef("%w", err)
	}
	return c.keep(a, file, chain, next)
}

// withPending returns next with the signatures that it has already.
func (c *change) withPending(file *cli.File, next trust.Text) (trust.Text, error) {
	data, _, err := file.Read(pending, trust.MaxText)
	if errors.Is(err, fs.ErrNotExist) {
		return next, nil
	}
	if err != nil {
		return trust.Text{}, err
	}
	waiting, err := trust.ParseText(data)
	if err != nil || !strings.HasPrefix(string(data), string(next.Bytes())) {
		return trust.Text{}, cli.Usagef("%s is another change than this one, and waits for signatures: finish it with its own command, or remove the file", c.file+pending)
	}
	return waiting, nil
}

// keep adds a version that is signed to the trust file, or keeps it beside until it is.
func (c *change) keep(a *cli.App, file *cli.File, chain trust.Chain, next trust.Text) error {
	newest := chain.Newest()
	before, behind := newest.Missing(next), next.Missing(next)
	if before > 0 || behind > 0 {
		if err := file.Replace(pending, 0o644, written(next.Bytes())); err != nil {
			return err
		}
		fmt.Fprintf(a.Stdout, "version %d waits in %s: it lacks %s and %s\n", next.Version, c.file+pending,
			missing(before, newest, next), missing(behind, next, next))
		return nil
	}
	longer, err := chain.Add(next)
	if err != nil {
		return err
	}
	if err := file.Replace("", 0o644, written(longer.Bytes())); err != nil {
		return err
	}
	if err := file.Remove(pending); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "version %d is in %s\n", next.Version, c.file)
	return nil
}

// missing says how many signatures by keys of a version are missing, and who can give them.
func missing(count int, by, of trust.Text) string {
	if count == 0 {
		return fmt.Sprintf("none by the keys of version %d", by.Version)
	}
	signers := by.SignersOf(of.Bytes())
	open := slices.DeleteFunc(slices.Clone(by.Keys), func(k trust.Key) bool { return slices.Contains(names(signers), k.Name()) })
	return fmt.Sprintf("%d by the keys of version %d (%s)", count, by.Version, strings.Join(names(open), ", "))
}

func readChain(file string) (trust.Chain, error) {
	data, _, err := fsops.ReadRegular(file, trust.MaxChain)
	if err != nil {
		return nil, err
	}
	return parseChain(file, data)
}

func parseChain(file string, data []byte) (trust.Chain, error) {
	chain, err := trust.ParseChain(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return chain, nil
}
