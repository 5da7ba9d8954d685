package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"syncd/cmd/syncd/cli"
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

// Service is a service that `syncd call` knows.
type Service struct {
	Name, Short string
	Operations  []*service.Operation
}

// Services returns all services.
func Services() []Service {
	return []Service{
		{"contribution", "Submit corrections and additions to the reference data", contribution.Operations()},
		{"list", "Count and list addresses, movers, homeowners, consumers and businesses", listing.Operations()},
		{"property", "Look up parcels, deeds and the homes of an owner", property.Operations()},
		{"autocomplete", "Complete addresses while they are typed", autocomplete.Operations()},
		{"reversegeo", "Find addresses and postal codes near a point", reversegeo.Operations()},
		{"releases", "List releases and manifests; show, hash and download their files", releases.Operations()},
	}
}

// callFlags are the flags of every call.
type callFlags struct {
	get, post, raw, jsonp, dryRun bool
	include, verbose, curl        bool
	format, body                  string
	batch                         batchFlags
}

// method returns the method that the flags choose, or the operation's first.
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

// Command returns `syncd call`.
func Command(a *cli.App) *cobra.Command {
	flags := &callFlags{}
	cmd := &cobra.Command{
		Use: "call SERVICE OPERATION [name=value...]", Short: "Call an operation of one of the provider's services",
		Long: `Call an operation of one of the provider's services. Names of operations and inputs
are those of the services, in any case. The Customer ID is filled in. The answer is
printed as JSON with every member, or as XML with --format xml.

With POST, write an input within another one with a dot, or by its last part if that
is unambiguous: Page=2 for Pagination.Page. The names of GET work with --post, too,
and those of POST with GET. Lists are JSON or have commas between the
items. A name given again begins the next item of its list. Old and new values of a
change are Current.City=... and ChangeTo.City=...

  syncd call property LookupProperty a1='12 Larkspur Way' postal=66999 cols=GrpAll
  syncd call list MAK/doCount Includes.Zips=66999
  syncd call reversegeo doLookup --post --body request.json --dry-run

With --batch, a call is made for each row of a file:

  syncd call property LookupProperty --batch in.csv --out out.csv

Exit codes: 0 done; 1 an error answer, with its code and meaning on stderr; 2 wrong
input, and nothing was sent. 'syncd call SERVICE' lists the operations, and
'syncd call SERVICE OPERATION --help' explains one.`,
	}
	f := cmd.PersistentFlags()
	f.BoolVar(&flags.get, "get", false, "use GET (the default where the operation has it)")
	f.BoolVar(&flags.post, "post", false, "use POST")
	f.StringVar(&flags.format, "format", "", "format of the request and the answer, e.g. json or xml (default: the operation's first)")
	f.BoolVar(&flags.jsonp, "jsonp", false, "call the JSONP address; callback=NAME wraps the answer in a call of that function")
	f.StringVar(&flags.body, "body", "", "`FILE` with the body of a POST, - for stdin; name=value adds to it")
	f.BoolVar(&flags.raw, "raw", false, "print the answer as it came, without the Customer ID")
	f.BoolVarP(&flags.include, "include", "i", false, "print the status line and the headers of the answer before it")
	f.BoolVarP(&flags.verbose, "verbose", "v", false, "print the first line and the headers of each request and answer to stderr, without the Customer ID")
	f.BoolVar(&flags.dryRun, "dry-run", false, "print the request without the Customer ID, and send nothing")
	f.BoolVar(&flags.curl, "curl", false, "print the command of curl that does the same, with the Customer ID from $"+idVariable+", and send nothing")
	flags.batch.add(f)
	a.AddWait(f)
	cmd.SuggestionsMinimumDistance = suggestionDistance
	cmd.RunE = helpOr("service")
	for _, c := range Services() {
		cmd.AddCommand(serviceCommand(a, c, flags))
	}
	return cmd
}

func serviceCommand(a *cli.App, c Service, flags *callFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: c.Name + " OPERATION [name=value...]", Aliases: spellings(a, c.Name), Short: c.Short, DisableFlagsInUseLine: true,
		SuggestionsMinimumDistance: suggestionDistance, RunE: helpOr("operation"),
	}
	for _, op := range c.Operations {
		for _, variant := range op.Variants() {
			cmd.AddCommand(operationCommand(a, c.Name, variant, flags))
		}
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), describeService(c)) })
	return cmd
}

// spellings returns the arguments that are a name in another case. As aliases
// they let cobra find the name, which it matches exactly.
func spellings(a *cli.App, name string) []string {
	var spellings []string
	for _, arg := range a.Args {
		if arg != name && strings.EqualFold(arg, name) {
			spellings = append(spellings, arg)
		}
	}
	return spellings
}

// suggestionDistance is the number of wrong characters up to which a name is near.
const suggestionDistance = 2

// maxSuggestions bounds the names that an error suggests.
const maxSuggestions = 4

// helpOr runs when no subcommand matches. It shows the command's help if no word
// follows. Otherwise the word is an unknown service or operation, and helpOr refuses it.
func helpOr(kind string) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		hint := ""
		if near := nearNames(cmd, args[0]); len(near) > 0 {
			hint = fmt.Sprintf(": did you mean %s?", strings.Join(near, " or "))
		}
		return cli.Usagef("%s has no %s %q%s (`%s` lists all)", cmd.Name(), kind, args[0], hint, cmd.CommandPath())
	}
}

// nearNames returns the names of subcommands that are similar to a text, or that
// contain it.
func nearNames(cmd *cobra.Command, typed string) []string {
	near := cmd.SuggestionsFor(typed)
	for _, sub := range cmd.Commands() {
		if strings.Contains(strings.ToLower(sub.Name()), strings.ToLower(typed)) && !slices.Contains(near, sub.Name()) {
			near = append(near, sub.Name())
		}
	}
	return near[:min(len(near), maxSuggestions)]
}

func operationCommand(a *cli.App, name string, op *service.Operation, flags *callFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: op.Name + " [name=value...]", Aliases: spellings(a, op.Name), Short: op.Summary, DisableFlagsInUseLine: true,
		ValidArgsFunction: func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return completeInput(op, flags.method(op), helpPrefix(a), typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.get && flags.post {
				return cli.Usagef("--get and --post exclude each other")
			}
			if err := flags.batch.check(*flags, cmd.Flags().Changed); err != nil {
				return err
			}
			if flags.batch.input != "" {
				return makeBatch(cmd.Context(), a, name, op, *flags, args)
			}
			return makeCall(cmd.Context(), a, cmd.InOrStdin(), name, op, *flags, args)
		},
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s", describeOperation(op, helpPrefix(a)), cmd.UsageString())
	})
	cmd.SetUsageTemplate(operationUsage)
	return cmd
}

// call makes one call and prints the answer.
func makeCall(ctx context.Context, a *cli.App, stdin io.Reader, name string, op *service.Operation, flags callFlags, args []string) error {
	heads := &heads{a: a, verbose: flags.verbose}
	client, err := connectService(a, name, flags, heads.trace)
	if err != nil {
		return err
	}
	defer client.Close()
	call, err := prepare(ctx, a, stdin, op, flags, args, client.Prefix())
	if err != nil {
		return err
	}
	switch {
	case flags.curl:
		return printCurl(a, client, call)
	case flags.dryRun:
		return printPreview(a, client, call)
	}
	answer, err := client.Send(ctx, call)
	if answer == nil {
		answer = errorAnswer(err)
	}
	if answer == nil {
		return err
	}
	for _, code := range answer.Codes.Of(service.Warning) {
		fmt.Fprintf(a.Stderr, "syncd: warning: %s\n", transport.Printable(code.String()))
	}
	if flags.include {
		fmt.Fprintln(a.Stdout, heads.last())
	}
	isFile := call.Form.Format == service.FormatFile && err == nil
	if failed := printAnswer(a, answer, flags.raw || isFile); failed != nil && err == nil {
		err = failed
	}
	return err
}

// errorAnswer returns the body of an answer with an error status, or nil.
func errorAnswer(err error) *service.Answer {
	var failed *transport.Error
	if !errors.As(err, &failed) || len(failed.Body) == 0 {
		return nil
	}
	answer := &service.Answer{Raw: failed.Body}
	answer.Value, _ = wire.ParseJSON(failed.Body) // a body that is not JSON is printed as it came
	return answer
}

// connectService returns a client for a service by its name in the configuration.
func connectService(a *cli.App, name string, flags callFlags, trace func(bool, string)) (*service.Client, error) {
	cfg, err := a.LoadSource()
	if err != nil {
		return nil, err
	}
	a.WarnOf(cfg)
	s := cfg.Services.ByKey(name)
	if s == nil {
		s = new(cfg.Source.Service())
		if cfg.Source.Bundles != "" {
			return nil, cli.Usagef("%s: source.bundles is a folder, which answers no calls", cfg.Path)
		}
		if cfg.Source.S3.IsSet() {
			return nil, cli.Usagef("%s: source.s3 is a bucket, which answers no calls: `syncd manifests` and `syncd files` read it", cfg.Path)
		}
	}
	if s.URL == nil {
		return nil, cli.Usagef("%s: the %s service has no address: set services.%s.url", cfg.Path, name, name)
	}
	id, err := s.Credential.Read()
	if err != nil && !flags.curl {
		return nil, err
	}
	a.Secrets.Add(id.Reveal())
	settings := a.ClientConfig(*s, id)
	settings.Trace = trace
	client, err := service.Connect(name, cfg.Services.Prefix, settings, s.JSONPURL)
	return client, cfg.Located("services."+name, err)
}
