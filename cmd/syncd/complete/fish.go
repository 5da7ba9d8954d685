package complete

import (
	"bytes"
	"errors"
	"strings"

	"github.com/spf13/cobra"
)

// fish gives a script the words of its line without their quotes, and the script of cobra
// evaluates them: after the name of a file, which any user of the host can choose, the next
// tab would run what the name holds. So the script quotes each word again; only a tilde at
// the beginning keeps its meaning.
const (
	fishWords       = "set -l args (commandline -opc)\n"
	fishQuotedWords = `set -l args (string escape -- (commandline -opc) | string replace -r "^('?)(?:\\\\)?~/" '~/$1')` + "\n"
)

var errFishScript = errors.New("this build has no safe completion for fish: tell the project")

// mendFish makes `syncd completion fish` write a script that quotes the words of the line.
func mendFish(root *cobra.Command) {
	fish, _, err := root.Find([]string{"completion", "fish"})
	if err != nil || fish.Name() != "fish" {
		return
	}
	fish.RunE = func(cmd *cobra.Command, _ []string) error {
		plain, err := cmd.Flags().GetBool("no-descriptions")
		if err != nil {
			return err
		}
		var script bytes.Buffer
		if err := root.GenFishCompletion(&script, !plain); err != nil {
			return err
		}
		mended := strings.Replace(script.String(), fishWords, fishQuotedWords, 1)
		if mended == script.String() {
			return errFishScript
		}
		_, err = cmd.OutOrStdout().Write([]byte(mended))
		return err
	}
}
