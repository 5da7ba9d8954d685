package call

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"syncd/cmd/syncd/cli"
	"syncd/internal/clients/service"
	"syncd/internal/clients/wire"
	"syncd/internal/report"
)

// prepare reads and checks the input of a call.
func prepare(ctx context.Context, a *cli.App, stdin io.Reader, op *service.Operation, flags callFlags, args []string, prefix string) (*service.Call, error) {
	method := flags.method(op)
	if !op.Has(method) {
		return nil, cli.Usagef("%s cannot be called with %s: use %s", op.Name, method, strings.Join(op.Methods, " or "))
	}
	if strings.EqualFold(flags.format, "jsonp") && op.JSONP {
		return nil, cli.Usagef("%s: use --jsonp in place of --format jsonp", op.Name)
	}
	body, err := readBody(ctx, stdin, op, flags, method)
	if err != nil {
		return nil, err
	}
	callback, args := cutCallback(args, flags.jsonp)
	members, extra, err := op.Arguments(method, prefix, body, args)
	if err != nil {
		return nil, err
	}
	call, err := op.Check(service.Form{
		Method: method, Format: flags.format, JSONP: flags.jsonp, Callback: callback,
		Extra: extra, Lenient: body != nil,
	}, members, prefix)
	if err != nil {
		return nil, err
	}
	call.Unknown = append(call.Unknown, slices.Sorted(maps.Keys(extra))...)
	for _, name := range call.Unknown {
		fmt.Fprintf(a.Stderr, "syncd: warning: %s is not a known input of %s and is sent unchecked\n", report.VisibleLine(name), op.Name)
	}
	return call, nil
}

// cutCallback removes the callback of a JSONP call from the arguments.
func cutCallback(args []string, jsonp bool) (callback string, rest []string) {
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		if jsonp && callback == "" && strings.EqualFold(name, "callback") {
			callback = value
			continue
		}
		rest = append(rest, arg)
	}
	return callback, rest
}

// maxRequest bounds the file of --body, in bytes.
const maxRequest = 16 << 20

// readBody reads the file of --body; it returns nil without the flag.
func readBody(ctx context.Context, stdin io.Reader, op *service.Operation, flags callFlags, method string) (wire.Object, error) {
	if flags.body == "" {
		return nil, nil
	}
	if method != "POST" {
		return nil, cli.Usagef("--body needs POST")
	}
	content, err := readFile(ctx, stdin, flags.body)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, cli.Usagef("--body: %w", err)
	}
	members, err := op.ReadBody(content)
	if err != nil {
		return nil, cli.Usagef("--body: %w", err)
	}
	return members, nil
}

// readFile reads a file, or stdin for "-". It returns when ctx ends, even if no
// input arrives from a terminal or a pipe. The goroutine that waits for the input
// then ends with the process.
func readFile(ctx context.Context, stdin io.Reader, name string) ([]byte, error) {
	type result struct {
		content []byte
		err     error
	}
	read := make(chan result, 1)
	go func() {
		content, err := readLimited(stdin, name)
		read <- result{content, err}
	}()
	select {
	case r := <-read:
		return r.content, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func readLimited(stdin io.Reader, name string) ([]byte, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		stdin = file
	}
	content, err := io.ReadAll(io.LimitReader(stdin, maxRequest+1))
	if len(content) > maxRequest {
		err = fmt.Errorf("over %d bytes", maxRequest)
	}
	return content, err
}
