package doctor

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"syncd/internal/bucket"
	"syncd/internal/clients/transport"
)

// checkService sends the first request. Any answer of the service shows that it is there.
func (e *examination) checkService(ctx context.Context) []Finding {
	begin := time.Now()
	answer, _, err := e.source.Carrier.Do(ctx, e.firstRequest())
	e.answer = answer
	took := time.Since(begin).Round(time.Millisecond)
	var failed *transport.Error
	var cooling *transport.CoolingDown
	switch {
	case err == nil && strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html"):
		return []Finding{failure("check source.url; if it is right, let the proxy or the login page of this network pass requests to it", "%s responds with a web page instead of a list", e.cfg.Source.URL.Host)}
	case err == nil, errors.As(err, &failed) && failed.Err == nil && isAnswer(failed.Status):
		return []Finding{good("%s responds after %s", e.cfg.Source.URL.Host, took)}
	case errors.As(err, &cooling), failed != nil && failed.RetryAfter > 0:
		return []Finding{failure("wait, and sync less often", "%v", err)}
	}
	return []Finding{e.explainRequest(err)}
}

func (e *examination) firstRequest() transport.Request {
	if e.cfg.Source.S3.IsSet() {
		return transport.Request{Endpoint: "Current", Segments: []string{bucket.CurrentName}, Limit: bucket.MaxText}
	}
	return transport.Request{
		Endpoint: "ManifestReleases", Segments: []string{"ManifestReleases", e.cfg.Manifests[0].Name}, Limit: 64 << 20, Query: url.Values{"format": {"json"}},
	}
}

// isAnswer is true for a status that shows that the service works.
func isAnswer(status int) bool {
	return status > 0 && status < http.StatusInternalServerError && status != http.StatusTooManyRequests
}

func (e *examination) explainRequest(err error) Finding {
	var proxy *transport.ProxyError
	var failed *transport.Error
	switch {
	case errors.As(err, &proxy):
		return failing(proxy, "check the proxy")
	case isCertificate(err):
		return e.explainTLS(err)
	case errors.As(err, &failed) && failed.Status >= http.StatusInternalServerError:
		return failure("try again later; if it lasts, tell the provider", "%v", err)
	}
	what, source := e.named()
	return failure("check "+source+", and that it leads to the provider's release service", "no valid answer by way of %s: %v", what, err)
}

// A clock that differs by this much is worth a word, or breaks guards and signatures.
const clockHint, clockFailure = 30 * time.Second, 5 * time.Minute

// checkClock compares the clock with that of the provider, which a cache may have kept.
func (e *examination) checkClock(context.Context) []Finding {
	if e.answer == nil {
		return []Finding{skipped("the provider's answer does not tell the time")}
	}
	date, err := http.ParseTime(e.answer.Header.Get("Date"))
	if err != nil {
		return []Finding{skipped("the provider's answer does not tell the time")}
	}
	age, _ := strconv.Atoi(e.answer.Header.Get("Age")) // usually missing
	skew := time.Since(date.Add(time.Duration(age) * time.Second)).Round(time.Second)
	const next = "run `timedatectl set-ntp true`, or correct the clock"
	text := "this machine's clock differs by " + humanize.Comma(int64(skew.Abs()/time.Second)) + " s from the provider's: it says " + time.Now().UTC().Format(time.RFC3339)
	switch {
	case skew.Abs() >= clockFailure:
		return []Finding{failure(next, "%s", text)}
	case skew.Abs() >= clockHint:
		return []Finding{hint(next, "%s", text)}
	}
	return []Finding{good("this machine's clock is right")}
}
