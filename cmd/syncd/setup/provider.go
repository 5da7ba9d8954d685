//go:build linux

package setup

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"syncd/cmd/syncd/cli"
	"syncd/internal/clients/releases"
	"syncd/internal/clients/transport"
	"syncd/internal/config"
	"syncd/internal/config/document"
	"syncd/internal/engine"
	"syncd/internal/manifest"
	"syncd/internal/report"
)

// The retries and the silence of a request are short: a person waits for the answer at the
// terminal, and can try again.
const maxElapsed, maxStall = 2 * time.Second, 3 * time.Second

// repeat asks until an answer is taken. Without a terminal, the first problem ends it.
func (s *setup) repeat(ctx context.Context, try func(ctx context.Context) error) error {
	for {
		err := try(ctx)
		if err == nil || ctx.Err() != nil || !s.isTerminal() || errors.Is(err, errNoAnswer) {
			return err
		}
		fmt.Fprintf(s.Stdout, "%v\n", err)
	}
}

// errNoAnswer ends the questions: the input has ended, and there is no default.
var errNoAnswer = errors.New("the input has ended")

func (s *setup) askAddress(ctx context.Context) error {
	return s.repeat(ctx, func(ctx context.Context) error {
		address, err := s.ask(ctx, "Address of the release service: ", false)
		switch {
		case errors.Is(err, io.EOF):
			return cli.Usagef("no address of the release service: %w; give it as the first line, such as https://releases.example.net", errNoAnswer)
		case err != nil:
			return err
		}
		s.address = address
		if s.draft, err = s.Draft(s.text("")); err != nil {
			return cli.Usagef("the address cannot be used: %s", withoutPlace(err))
		}
		return s.tryAddress(ctx)
	})
}

// withoutPlace is an error of the draft without its place: the file does not exist yet.
func withoutPlace(err error) string {
	if problem, ok := errors.AsType[*document.Error](err); ok {
		return strings.TrimSuffix(problem.Problem+"; "+problem.Suggestion, "; ")
	}
	return err.Error()
}

// list asks the provider for its manifests.
func (s *setup) list(ctx context.Context, id config.Secret) ([]releases.ListedManifest, error) {
	settings := s.ForPerson(engine.SourceConfig(s.draft.Source, id))
	settings.Tell = nil // the answer tells it
	settings.Retry.MaxElapsed = min(settings.Retry.MaxElapsed, maxElapsed)
	settings.StallTimeout = min(settings.StallTimeout, maxStall)
	carrier, err := transport.New(settings)
	if err != nil {
		return nil, err
	}
	client, err := cli.SourceOver(s.draft, carrier)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return client.ManifestList(ctx, manifest.Latest)
}

// tryAddress sends a request without a Customer ID. A refusal shows that the service is
// there.
func (s *setup) tryAddress(ctx context.Context) error {
	_, err := s.list(ctx, "")
	var failed *transport.Error
	if err == nil || ctx.Err() != nil || errors.As(err, &failed) && isRefusal(failed) {
		return context.Cause(ctx)
	}
	return s.explain(err)
}

// isRefusal is true for an answer of the service that wants another Customer ID.
func isRefusal(failed *transport.Error) bool {
	return failed.Status == http.StatusUnauthorized || failed.Status == http.StatusForbidden || failed.Status == http.StatusBadRequest ||
		failed.Type != "" && failed.Status >= 400 && failed.Status < 500 && failed.Status != http.StatusTooManyRequests
}

// explain says what to do about an address that does not work. The error is text only: no
// configuration is there that `syncd doctor` could look at.
func (s *setup) explain(err error) error {
	var failed *transport.Error
	var certificate *tls.CertificateVerificationError
	next := "check host and port of the address, the firewall, and whether this network needs a proxy (HTTPS_PROXY)"
	switch {
	case errors.As(err, &certificate):
		next = "check the name in the address; for an authority of your own, add its certificate to those of this system, or write the configuration by hand with source.ca_file"
	case errors.As(err, &failed) && failed.Status >= 500:
		next = "try again later; if it lasts, tell the provider"
	case errors.As(err, &failed) && failed.Status == http.StatusTooManyRequests:
		next = "wait a minute, then try again"
	case failed == nil || failed.Status > 0 || failed.Kind == transport.Malformed:
		next = "check the address with its path: it must be that of the provider's release service, without a login page or proxy in front"
	}
	return fmt.Errorf("%s gives no valid answer: %s; %s", s.draft.Source.URL.Host, report.OneLine(err.Error()), next)
}

func (s *setup) askID(ctx context.Context) error {
	return s.repeat(ctx, func(ctx context.Context) error {
		text, err := s.ask(ctx, "Customer ID (not shown): ", true)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err := s.chooseID(text, errors.Is(err, io.EOF)); err != nil {
			return err
		}
		return s.tryID(ctx)
	})
}

// chooseID takes the given Customer ID, or that of the environment for an empty one.
func (s *setup) chooseID(text string, hasEnded bool) error {
	given, err := s.draft.Source.ReadID()
	s.isInShell = err == nil && (s.Getenv("SYNCD_CUSTOMER_ID") != "" || s.Getenv("CREDENTIALS_DIRECTORY") != "")
	if text == "" {
		switch {
		case err != nil && hasEnded:
			return cli.Usagef("no Customer ID: %w; give it as the second line", errNoAnswer)
		case err != nil:
			return cli.Usagef("no Customer ID is set here: it comes with the subscription, or stands after -l in a command line of the provider's updater")
		}
		s.id = given
		s.Secrets.Add(given.Reveal())
		return nil
	}
	id, problem := config.ParseID(text)
	if problem != nil {
		return problem
	}
	s.Secrets.Add(id.Reveal())
	if s.isInShell && id != given {
		return cli.Usagef("the environment sets another Customer ID: run `unset SYNCD_CUSTOMER_ID` first, or give that one")
	}
	s.id = id
	return nil
}

// tryID asks for the manifests with the Customer ID.
func (s *setup) tryID(ctx context.Context) error {
	listed, err := s.list(ctx, s.id)
	var failed *transport.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &failed) && isRefusal(failed):
		return fmt.Errorf("the provider refuses this Customer ID: %s; compare it with the documents of the subscription", report.OneLine(err.Error()))
	case err != nil:
		return s.explain(err)
	case len(listed) == 0:
		return fmt.Errorf("%s offers no manifests to this Customer ID: ask the provider what the subscription holds", s.draft.Source.URL.Host)
	}
	s.listed = nil
	for _, entry := range listed {
		if config.UsableName(entry.Name) {
			s.listed = append(s.listed, entry)
		}
	}
	return nil
}

func (s *setup) askManifests(ctx context.Context) error {
	fmt.Fprintf(s.Stdout, "\n%s offers:\n", s.draft.Source.URL.Host)
	table := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
	for i, entry := range s.listed {
		fmt.Fprintf(table, "%4d\t%s\t%s\n", i+1, report.VisibleLine(entry.Name), report.VisibleLine(entry.Description))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return s.repeat(ctx, func(ctx context.Context) error {
		text, err := s.ask(ctx, "Manifests, by number or name [1]: ", false)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		return s.choose(text)
	})
}

// choose takes names and numbers of the list; the first manifest without any.
func (s *setup) choose(text string) error {
	s.manifests = nil
	wanted := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	if len(wanted) == 0 {
		wanted = []string{"1"}
	}
	for _, word := range wanted {
		at := slices.IndexFunc(s.listed, func(entry releases.ListedManifest) bool { return entry.Name == word })
		if n, err := strconv.Atoi(word); at < 0 && err == nil {
			at = n - 1
		}
		if at < 0 || at >= len(s.listed) {
			return cli.Usagef("%q is neither a number nor a name of the list: give one of 1 to %d, or a name as the list has it", report.VisibleLine(word), len(s.listed))
		}
		if name := s.listed[at].Name; !slices.Contains(s.manifests, name) {
			s.manifests = append(s.manifests, name)
		}
	}
	return nil
}
