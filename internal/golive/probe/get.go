package probe

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"syncd/internal/host/command"
)

// Limits of an answer. The consumer is trusted with nothing: it may be broken.
const (
	maxAnswer = 64 << 10
	maxHeader = 16 << 10
)

// leastWait is how long a request may take at least: a quarter of Within, or this.
const leastWait = 10 * time.Second

// Target is the address of a URL without what may be secret: its path and its query.
func (p Probe) Target() string {
	u, err := p.url(Subject{})
	if err != nil {
		return "the probe's url"
	}
	return u.Scheme + "://" + u.Host
}

// url is the address for a subject. What stands for a placeholder cannot leave its segment.
func (p Probe) url(s Subject) (*url.URL, error) {
	path, query, hasQuery := strings.Cut(p.URL, "?")
	text := s.replace(path, url.PathEscape)
	if hasQuery {
		text += "?" + s.replace(query, url.QueryEscape)
	}
	return url.Parse(text)
}

// get asks a URL. A redirect is an answer like any other, so that the consumer that the
// operator named decides, and no proxy stands in between.
func (p Probe) get(ctx context.Context, s Subject) Answer {
	ctx, cancel := context.WithTimeoutCause(ctx, max(leastWait, p.Within/4), errTime)
	defer cancel()
	target, err := p.url(s)
	if err != nil {
		return Answer{Error: "the probe's url cannot be used"} // the error would quote it
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return Answer{Error: "the probe's url cannot be used"}
	}
	req.Header.Set("User-Agent", p.UserAgent)
	client := http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
			TLSClientConfig: &tls.Config{RootCAs: p.Roots},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return Answer{Error: fmt.Sprintf("%s gave no answer: %v", p.Target(), withoutURL(ctx, err))}
	}
	defer res.Body.Close()
	return p.judge(ctx, res, s.replace(p.Contains, func(text string) string { return text }))
}

// judge reads the answer as far as it decides, and for its last lines.
func (p Probe) judge(ctx context.Context, res *http.Response, wanted string) Answer {
	isStatus := res.StatusCode == p.Status
	if isStatus && wanted == "" {
		return Answer{Passed: true}
	}
	if res.StatusCode == http.StatusSwitchingProtocols { // its body is the bare connection, which no context closes
		return Answer{Error: p.refused(res.StatusCode, "")}
	}
	var tail command.Tail
	found, err := find(io.TeeReader(io.LimitReader(res.Body, maxAnswer), &tail), wanted)
	answer := Answer{Passed: isStatus && found, Lines: tail.Lines()}
	if answer.Passed {
		return answer
	}
	answer.Error = p.refused(res.StatusCode, wanted)
	if err != nil && isStatus {
		answer.Error += fmt.Sprintf(", and the answer did not end: %v", withoutURL(ctx, err))
	}
	answer.Error += quoted(answer.Lines)
	return answer
}

func (p Probe) refused(status int, wanted string) string {
	if status != p.Status {
		text := fmt.Sprintf("%s answered with status %d, not %d", p.Target(), status, p.Status)
		if status >= 300 && status < 400 {
			text += " (redirects are not followed)"
		}
		return text
	}
	return fmt.Sprintf("the first %d KiB of the answer of %s lack %q", maxAnswer>>10, p.Target(), wanted)
}

// find looks for a text while it arrives: an answer that never ends can have it.
func find(from io.Reader, wanted string) (found bool, err error) {
	var seen []byte
	part := make([]byte, 4<<10)
	for {
		n, err := from.Read(part)
		before := max(len(seen)-len(wanted), 0)
		seen = append(seen, part[:n]...)
		if wanted != "" && bytes.Contains(seen[before:], []byte(wanted)) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// withoutURL removes the URL from an error of net/http, because it may hold a secret.
func withoutURL(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("its time was over")
	}
	if withURL, ok := errors.AsType[*url.Error](err); ok {
		return withURL.Err
	}
	return err
}
