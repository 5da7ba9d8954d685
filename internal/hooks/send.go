package hooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"syncd/internal/hooks/event"
	"syncd/internal/host/command"
	"syncd/internal/store"
)

// Sender makes attempts.
type Sender struct {
	UserAgent string
	Environ   func() []string       // of commands, without the Customer ID
	Clean     func(string) string   // makes one printable line of a text, without the Customer ID
	Roots     func() *x509.CertPool // trusted by webhooks; nil for the system's
}

// goneError says that a webhook wants no more events.
type goneError struct{}

func (*goneError) Error() string { return "status 410: the receiver wants no more events" }

func (s Sender) send(ctx context.Context, h Hook, d store.Delivery) error {
	if h.URL != nil {
		ctx, cancel := context.WithTimeoutCause(ctx, h.Timeout, fmt.Errorf("no answer after %s", h.Timeout))
		defer cancel()
		return s.post(ctx, h, d)
	}
	return s.runCommand(ctx, h, d)
}

// runCommand runs a command. Its last lines are part of the error.
func (s Sender) runCommand(ctx context.Context, h Hook, d store.Delivery) error {
	variables, err := variables(d)
	if err != nil {
		return err
	}
	var tail command.Tail
	err = command.Command{
		Argv: h.Command, Env: append(s.Environ(), variables...), Stdin: bytes.NewReader(d.Body),
		Stdout: &tail, Stderr: &tail, Timeout: h.Timeout,
	}.Run(ctx)
	if err == nil {
		return nil
	}
	text := h.Command[0] + ": " + err.Error()
	if lines := tail.Lines(); len(lines) > 0 {
		text += ": " + strings.Join(lines, " | ")
	}
	return errors.New(s.Clean(text))
}

// variables tell a command about an event.
func variables(d store.Delivery) ([]string, error) {
	data, err := event.Parse(d.Body)
	if err != nil {
		return nil, err
	}
	return []string{
		"SYNCD_EVENT=" + d.Event, "SYNCD_EVENT_ID=" + d.ID, "SYNCD_MANIFEST=" + data.Manifest, "SYNCD_RELEASE=" + data.Release,
		"SYNCD_REVISION=" + data.Revision, "SYNCD_PREVIOUS=" + data.Previous, "SYNCD_PATH=" + data.Path,
	}, nil
}

// maxAnswerHeader limits an answer, of which only the status counts.
const maxAnswerHeader = 16 << 10

// post sends a delivery by the Standard Webhooks rules. Errors show neither the path nor
// the query of the URL, which may hold a token, and nothing of the answer.
func (s Sender) post(ctx context.Context, h Hook, d store.Delivery) error {
	req, err := request(ctx, h, d)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", s.UserAgent)
	client := http.Client{
		Transport:     s.carrier(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return errors.New(s.Clean(withoutURL(ctx, err).Error()))
	}
	// Do not read the body: its end may never come, and the body of a 101 is the bare
	// connection, which no context closes.
	res.Body.Close()
	return verdict(res.StatusCode)
}

// carrier is for one attempt: a connection that was idle for a week is dead. HTTP/1.1 keeps
// a receiver from holding up the process by misusing HTTP/2.
func (s Sender) carrier() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, OnProxyConnectResponse: checkProxy,
		DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswerHeader,
		TLSClientConfig: &tls.Config{RootCAs: s.Roots()},
	}
}

// checkProxy leaves out the texts of a proxy, because they can repeat its password.
func checkProxy(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return fmt.Errorf("the proxy refused the connection with status %d", answer.StatusCode)
}

func request(ctx context.Context, h Hook, d store.Delivery) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL.String(), bytes.NewReader(d.Body))
	if err != nil {
		return nil, errors.New("the URL cannot be used")
	}
	now := time.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(standardwebhooks.HeaderWebhookID, d.ID)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	if h.Signer == nil {
		return req, nil
	}
	signature, err := h.Signer.Sign(d.ID, now, d.Body)
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return req, err
}

// withoutURL removes the URL from an error of net/http.
func withoutURL(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if withURL, ok := errors.AsType[*url.Error](err); ok {
		return withURL.Err
	}
	return err
}

func verdict(status int) error {
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusGone:
		return &goneError{}
	case status >= 300 && status < 400:
		return fmt.Errorf("status %d: redirects are not followed", status)
	}
	return fmt.Errorf("status %d", status)
}
