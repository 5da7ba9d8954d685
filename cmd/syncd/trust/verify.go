package trust

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
	"syncd/internal/disk/fsops"
	"syncd/internal/manifest"
)

func verifyCommand(a *cli.App) *cobra.Command {
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "verify FILE", Short: "Check the signatures of a text, and the files that it lists", Args: cli.Arguments(1, 1),
		Long: `Check that enough keys of a trust file signed a text. For a list of digests, such as the
SHA256SUMS of a release of syncd, the files that lie beside it are checked, too. At least one
of them must be there.`,
		RunE: func(_ *cobra.Command, args []string) error {
			if file == "" {
				return cli.Usagef("--trust is missing: name the trust file")
			}
			chain, err := readChain(file)
			if err != nil {
				return err
			}
			newest := chain.Newest()
			if newest.HasExpired(time.Now()) {
				return fmt.Errorf("%s ended on %s: get the newest version of it", file, newest.Expires.Format(time.DateOnly))
			}
			text, _, err := fsops.ReadRegular(args[0], maxSigned)
			if err != nil {
				return err
			}
			body, signers, err := newest.Verify(text)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			found := verified{File: args[0], SignedBy: names(signers)}
			if found.Files, err = checkList(filepath.Dir(args[0]), body); err != nil {
				return err
			}
			if !asJSON {
				found.print(a.Stdout)
			} else if err := a.PrintJSON(found); err != nil {
				return err
			}
			if len(found.Files) > 0 && found.count(stateAbsent) == len(found.Files) {
				return fmt.Errorf("%s is signed, but none of the files that it lists lies beside it: nothing was compared", args[0])
			}
			if found.count(stateWrong) > 0 {
				return cli.ErrPrinted
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "trust", "", "the trust `file`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// verified is `trust verify --json`.
type verified struct {
	File     string   `json:"file"`
	SignedBy []string `json:"signed_by"`
	Files    []listed `json:"files"` // of a list of digests
}

// The states of a file in a list.
const (
	stateRight  = "right"
	stateWrong  = "wrong"
	stateAbsent = "absent"
)

// listed is a line of a list of digests.
type listed struct {
	Path   string            `json:"path"`
	SHA256 manifest.ObjectID `json:"sha256"` // as listed
	State  string            `json:"state"`
}

func (v verified) count(state string) (n int) {
	for _, f := range v.Files {
		if f.State == state {
			n++
		}
	}
	return n
}

func (v verified) print(w io.Writer) {
	fmt.Fprintf(w, "%s: signed by %s\n", v.File, strings.Join(v.SignedBy, ", "))
	if len(v.Files) == 0 {
		return
	}
	for _, f := range v.Files {
		switch f.State {
		case stateWrong:
			fmt.Fprintf(w, "%s: WRONG: its digest is not %s\n", f.Path, f.SHA256)
		case stateRight:
			fmt.Fprintf(w, "%s: right\n", f.Path)
		}
	}
	fmt.Fprintf(w, "%d right, %d wrong, %d not here\n", v.count(stateRight), v.count(stateWrong), v.count(stateAbsent))
}

// checkList compares the files in a folder with a list of digests, as sha256sum writes it.
// Any other text lists nothing.
func checkList(folder string, body []byte) ([]listed, error) {
	list := parseList(body)
	if len(list) == 0 {
		return []listed{}, nil
	}
	dir, err := fsops.OpenDir(folder)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for i := range list {
		switch got, err := digest(dir, list[i].Path); {
		case errors.Is(err, fs.ErrNotExist):
			list[i].State = stateAbsent
		case err != nil:
			return nil, err
		case got != list[i].SHA256:
			list[i].State = stateWrong
		default:
			list[i].State = stateRight
		}
		list[i].Path = filepath.Join(folder, list[i].Path)
	}
	return list, nil
}

// parseList reads lines of a digest and the name of a file in the same folder. It returns
// nothing when a line is something else.
func parseList(body []byte) []listed {
	var list []listed
	for line := range strings.Lines(string(body)) {
		digest, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		id, err := manifest.ParseObjectID(digest)
		name = strings.TrimPrefix(strings.TrimPrefix(name, " "), "*")
		if err != nil || manifest.CheckSegment(name) != nil {
			return nil
		}
		list = append(list, listed{Path: name, SHA256: id})
	}
	return list
}

// digest returns the SHA-256 of a regular file.
func digest(dir *fsops.Dir, name string) (manifest.ObjectID, error) {
	f, err := dir.OpenRegular(name)
	if err != nil {
		return manifest.ObjectID{}, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return manifest.ObjectID{}, err
	}
	return manifest.ObjectID(sum.Sum(nil)), nil
}
