package call

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

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

// idVariable is the variable from which the command of curl takes the Customer ID.
const idVariable = "SYNCD_CUSTOMER_ID"

// printCurl prints the command of curl for a call.
func printCurl(a *cli.App, client *service.Client, call *service.Call) error {
	command, err := client.Curl(call, idVariable)
	if err != nil {
		return err
	}
	if a.Getenv(idVariable) == "" {
		a.Note("the command reads the Customer ID from $" + idVariable + ": set it before you run the command")
	}
	return printText(a, []byte(command))
}

// heads shows the heads of requests and answers with --verbose, and keeps the last
// answer's for --include. Safe for concurrent use.
type heads struct {
	a       *cli.App
	verbose bool

	mu     sync.Mutex
	answer string
}

func (h *heads) trace(sent bool, head string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	mark := "< "
	if sent {
		mark = "> "
	} else {
		h.answer = head
	}
	if h.verbose {
		io.WriteString(h.a.Stderr, mark+strings.ReplaceAll(strings.TrimSuffix(head, "\n"), "\n", "\n"+mark)+"\n") //nolint:errcheck // there is no other place to tell it
	}
}

func (h *heads) last() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.answer
}

// printAnswer prints an answer, as JSON unless it is XML or raw.
func printAnswer(a *cli.App, answer *service.Answer, raw bool) error {
	out := answer.Raw
	if answer.Value != nil && !raw && !wire.IsXML(answer.Raw) {
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
