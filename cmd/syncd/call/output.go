package call

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"syncd/cmd/syncd/cli"
	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
	"syncd/internal/report"
)

// printPreview prints the request of a call.
func printPreview(a *cli.App, client *service.Client, call *service.Call) error {
	request, err := client.Preview(call)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s\n", request.Method, request.URL)
	for _, name := range slices.Sorted(maps.Keys(request.Header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(request.Header[name], ", "))
	}
	if len(request.Body) > 0 {
		fmt.Fprintf(&b, "\n%s\n", request.Body)
	}
	return printText(a, b.Bytes())
}

// printAnswer prints an answer, as JSON unless raw.
func printAnswer(a *cli.App, answer *service.Answer, raw bool) error {
	out := answer.Raw
	if answer.Value != nil && !raw {
		out = wire.Indent(answer.Value)
	}
	if len(out) > 0 && !raw && out[len(out)-1] != '\n' && isPlain(out) {
		out = append(out, '\n')
	}
	return printText(a, out)
}

// print writes to stdout, but never control characters to a terminal.
func printText(a *cli.App, out []byte) error {
	if a.Stdout.IsTerminal() && !isPlain(out) {
		return errors.New("the output is not plain text: redirect it to a file")
	}
	return a.Stdout.WriteData(out)
}

// isPlain is true for text without control characters that a terminal acts on.
func isPlain(b []byte) bool {
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	return bytes.Equal(report.Visible(b), b)
}
