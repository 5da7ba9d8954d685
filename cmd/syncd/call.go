package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"syncd/internal/clients/autocomplete"
	"syncd/internal/clients/contribution"
	"syncd/internal/clients/listing"
	"syncd/internal/clients/property"
	"syncd/internal/clients/releases"
	"syncd/internal/clients/reversegeo"
	"syncd/internal/clients/service"
	"syncd/internal/clients/transport"
	"syncd/internal/clients/wire"
)

// callable is a service that can be called by name.
type callable struct {
	name, short string
	operations  []*service.Operation
}

func callables() []callable {
	return []callable{
		{"contribution", "Submit corrections and additions", contribution.Operations()},
		{"list", "Count and look up lists of addresses, movers, homeowners, consumers and businesses", listing.Operations()},
		{"property", "Look up parcels, deeds and the homes of an owner", property.Operations()},
		{"autocomplete", "Complete addresses as they are typed", autocomplete.Operations()},
		{"reversegeo", "Find what is close to a point", reversegeo.Operations()},
		{"releases", "The release service, which the mirror follows", releases.Operations()},
	}
}

// callFlags are the flags of every call.
type callFlags struct {
	get, post, raw, script bool
	format, body           string
}

// method is the one that the flags ask for, or the operation's first.
func (f callFlags) method(op *service.Operation) string {
	switch {
	case f.post:
		return "POST"
	case f.get:
		return "GET"
	case f.body != "":
		return "POST"
	}
	return op.Methods[0]
}

func (a *app) callCommand() *cobra.Command {
	flags := &callFlags{}
	cmd := &cobra.Command{
		Use: "call SERVICE OPERATION [name=value...]", Short: "Call an operation of any of the provider's services",
		Long: `Call an operation of any of the provider's services. Names are those of the wire,
in any case; the Customer ID is filled in. The answer is printed as JSON with every
member that came.

A POST writes names within others with a dot, or by the last part where that is
plain (Page=2 for Pagination.Page). Lists take commas or JSON; naming a member of a
list's item again begins the next item; old and new values of a change are
Current.City=... and ChangeTo.City=...

  syncd call property LookupProperty a1='12 Larkspur Way' postal=66999 cols=GrpAll
  syncd call list MAK/doCount Includes.Zips=66999
  syncd call reversegeo doLookup --post --body request.json

Exit codes: 0 done; 1 an error answer, its code and meaning on stderr; 2 bad input,
and nothing was sent. 'syncd call SERVICE' lists the operations with their inputs,
'syncd call SERVICE OPERATION --help' explains one.`,
	}
	f := cmd.PersistentFlags()
	f.BoolVar(&flags.get, "get", false, "use GET (the default where the operation has it)")
	f.BoolVar(&flags.post, "post", false, "use POST")
	f.StringVar(&flags.format, "format", "", "format on the wire, e.g. json or xml (default: the operation's first)")
	f.BoolVar(&flags.script, "jsonp", false, "ask the script address; with callback=NAME for a call of NAME")
	f.StringVar(&flags.body, "body", "", "`FILE` with the body of a POST, - for stdin; name=value adds to it")
	f.BoolVar(&flags.raw, "raw", false, "print the answer's bytes as they came, but for the Customer ID")
	for _, c := range callables() {
		cmd.AddCommand(a.serviceCommand(c, flags))
	}
	return cmd
}

func (a *app) serviceCommand(c callable, flags *callFlags) *cobra.Command {
	cmd := &cobra.Command{Use: c.name + " OPERATION [name=value...]", Short: c.short, Long: describeService(c), DisableFlagsInUseLine: true}
	cmd.RunE = needSubcommand
	for _, op := range c.operations {
		cmd.AddCommand(a.operationCommand(c.name, op, flags))
	}
	cmd.SetUsageTemplate(serviceUsage)
	return cmd
}

func (a *app) operationCommand(name string, op *service.Operation, flags *callFlags) *cobra.Command {
	variants := op.Variants()
	return &cobra.Command{
		Use: variants[0] + " [name=value...]", Aliases: variants[1:], Short: op.Summary, Long: describeOperation(op),
		DisableFlagsInUseLine: true,
		ValidArgsFunction: func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return completeInput(op, flags.method(op), typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			args = append(op.Bound(cmd.CalledAs()), args...)
			return a.call(cmd.Context(), cmd.InOrStdin(), name, op, *flags, args)
		},
	}
}

// call makes one call and prints the answer.
func (a *app) call(ctx context.Context, stdin io.Reader, name string, op *service.Operation, flags callFlags, args []string) error {
	if flags.get && flags.post {
		return usagef("--get and --post exclude each other")
	}
	client, err := a.connectService(name)
	if err != nil {
		return err
	}
	defer client.Close()
	call, err := a.prepare(ctx, stdin, op, flags, args, client.Prefix())
	if err != nil {
		return err
	}
	answer, err := client.Send(ctx, call)
	var failed *transport.Error
	if errors.As(err, &failed) && len(failed.Body) > 0 {
		answer = &service.Answer{Raw: failed.Body}
		answer.Value, _ = wire.ParseJSON(failed.Body) // else it is shown as it is
	}
	if answer == nil {
		return err
	}
	for _, code := range answer.Codes.Of(service.Warning) {
		fmt.Fprintf(a.stderr, "syncd: warning: %s\n", transport.Printable(code.String()))
	}
	if told := a.printAnswer(answer, flags.raw || call.Form.Format == service.File); told != nil && err == nil {
		err = told
	}
	return err
}

// connectService returns a client for a service by its name in the configuration.
func (a *app) connectService(name string) (*service.Client, error) {
	cfg, err := a.loadAndWarn()
	if err != nil {
		return nil, err
	}
	s := cfg.Services.ByKey(name)
	if s == nil {
		s = new(cfg.Source.Service())
	}
	if s.URL == nil {
		return nil, usagef("%s: the %s service has no address: set services.%s.url", cfg.Path, name, name)
	}
	id, err := s.Credential.Read()
	if err != nil {
		return nil, err
	}
	a.stdout.secrets.add(id.Reveal())
	return service.Connect(name, cfg.Services.Prefix, clientConfig(*s, id), s.JSONPURL)
}

// prepare reads the input of a call and checks it.
func (a *app) prepare(ctx context.Context, stdin io.Reader, op *service.Operation, flags callFlags, args []string, prefix string) (*service.Call, error) {
	method := flags.method(op)
	if !op.Has(method) {
		return nil, usagef("%s cannot be called with %s: use %s", op.Name, method, strings.Join(op.Methods, " or "))
	}
	body, err := readBody(ctx, stdin, op, flags, method)
	if err != nil {
		return nil, err
	}
	callback, args := cutCallback(args, flags.script)
	members, extra, err := op.Arguments(method, prefix, body, args)
	if err != nil {
		return nil, err
	}
	call, err := op.Check(service.Form{
		Method: method, Format: flags.format, Script: flags.script, Callback: callback,
		Extra: extra, Lenient: body != nil,
	}, members, prefix)
	if err != nil {
		return nil, err
	}
	call.Unknown = append(call.Unknown, slices.Sorted(maps.Keys(extra))...)
	for _, name := range call.Unknown {
		fmt.Fprintf(a.stderr, "syncd: warning: %s is not known to %s and is sent as it is\n", printable(name), op.Name)
	}
	return call, nil
}

// cutCallback takes the callback of a script call from the arguments.
func cutCallback(args []string, script bool) (callback string, rest []string) {
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		if script && callback == "" && strings.EqualFold(name, "callback") {
			callback = value
			continue
		}
		rest = append(rest, arg)
	}
	return callback, rest
}

// maxRequest bounds the file of a body, in bytes.
const maxRequest = 16 << 20

// readBody reads the body that a call starts from; nil without --body.
func readBody(ctx context.Context, stdin io.Reader, op *service.Operation, flags callFlags, method string) (wire.Object, error) {
	if flags.body == "" {
		return nil, nil
	}
	if method != "POST" {
		return nil, usagef("--body is for POST")
	}
	content, err := readFile(ctx, stdin, flags.body)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, usagef("--body: %w", err)
	}
	members, err := op.ReadBody(content)
	if err != nil {
		return nil, usagef("--body: %w", err)
	}
	return members, nil
}

// readFile reads a file, or stdin for "-". The end of ctx is not held up by a
// terminal or a pipe where nobody writes; what waits there ends with the process.
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

// printAnswer writes an answer to stdout.
func (a *app) printAnswer(answer *service.Answer, raw bool) error {
	out := answer.Raw
	if answer.Value != nil && !raw {
		out = wire.Indent(answer.Value)
	}
	if a.stdout.isTerminal() && !isPlain(out) {
		return errors.New("the answer is no plain text: redirect the output to a file")
	}
	if len(out) > 0 && !raw && out[len(out)-1] != '\n' && isPlain(out) {
		out = append(out, '\n')
	}
	_, err := a.stdout.Write(out)
	return err
}

// isPlain is true for text that does nothing to a terminal.
func isPlain(b []byte) bool {
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	return utf8.Valid(b) && !bytes.ContainsFunc(b, func(r rune) bool {
		return r != '\n' && r != '\t' && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp)
	})
}
