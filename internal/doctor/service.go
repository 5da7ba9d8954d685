//go:build linux

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

	"syncd/internal/clients/transport"
	"syncd/internal/downstream/bucket"
)

// checkService sends the first request. Any answer of the service shows that it is there.
func (p *provider) checkService(ctx context.Context) []Finding {
	begin := time.Now()
	answer, body, err := p.source.Carrier.Do(ctx, p.firstRequest())
	p.answer = answer
	took := time.Since(begin).Round(time.Millisecond)
	var failed *transport.Error
	var cooling *transport.CoolingDown
	hasFailed := errors.As(err, &failed)
	switch {
	case err == nil && strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html"):
		return []Finding{failure("check "+p.sourceKey()+"; if it is right, let the proxy or the login page of this network pass requests to it", "%s responds with a web page instead of a list", p.cfg.Source.URL.Host)}
	case err == nil && p.isFollower():
		return p.checkCurrent(body, took)
	case p.isFollower() && hasFailed:
	case err == nil, hasFailed && failed.Err == nil && isAnswer(failed.Status):
		return []Finding{good("%s responds after %s", p.cfg.Source.URL.Host, took)}
	case errors.As(err, &cooling), hasFailed && failed.RetryAfter > 0:
		return []Finding{failure("wait, and sync less often", "%v", err)}
	}
	return []Finding{p.explainRequest(err)}
}

func (s *setup) isFollower() bool { return s.cfg.Source.S3.IsSet() }

// checkCurrent looks at current.json of source.s3.
func (p *provider) checkCurrent(text []byte, took time.Duration) []Finding {
	current, err := bucket.ParseCurrent(text)
	if err != nil {
		return []Finding{failure("correct "+p.sourceAt+".s3.prefix, or publish there with the same version of syncd", "%s.s3 names no publication of syncd: %v", p.sourceAt, err)}
	}
	return []Finding{good("%s responds after %s; %s published generation %d", p.cfg.Source.URL.Host, took, current.Publisher, current.Generation)}
}

func (p *provider) firstRequest() transport.Request {
	if p.isFollower() {
		return transport.Request{Endpoint: "Current", Segments: []string{bucket.CurrentName}, Limit: bucket.MaxText}
	}
	return transport.Request{
		Endpoint: "ManifestReleases", Segments: []string{"ManifestReleases", p.cfg.Manifests[0].Name}, Limit: 64 << 20, Query: url.Values{"format": {"json"}},
	}
}

// isAnswer is true for a status that shows that the service works.
func isAnswer(status int) bool {
	return status > 0 && status < http.StatusInternalServerError && status != http.StatusTooManyRequests
}

func (p *provider) explainRequest(err error) Finding {
	var proxy *transport.ProxyError
	var failed *transport.Error
	switch {
	case errors.As(err, &proxy):
		return failing(proxy, "check the proxy")
	case isCertificate(err):
		return p.explainTLS(err)
	case p.isFollower() && errors.As(err, &failed) && failed.Status > 0:
		return p.storage.explainStore(p.bucket(), failed.Type, failed.Status, err)
	case errors.As(err, &failed) && failed.Status >= http.StatusInternalServerError:
		return failure("try again later; if it lasts, "+p.askFor(), "%v", err)
	}
	what, source := p.named()
	return failure("check "+source+", and that it leads to "+p.sourceName(), "no valid answer by way of %s: %v", what, err)
}

const nextClock = "run `timedatectl set-ntp true`, or correct the clock"

// A clock that differs by this much is worth a word, or breaks guards and signatures.
const clockHint, clockFailure = 30 * time.Second, 5 * time.Minute

// checkClock compares the clock with that of the source, which a cache may have kept.
func (p *provider) checkClock(context.Context) []Finding {
	if p.answer == nil {
		return []Finding{skipped("the answer of the service does not tell the time")}
	}
	date, err := http.ParseTime(p.answer.Header.Get("Date"))
	if err != nil {
		return []Finding{skipped("the answer of the service does not tell the time")}
	}
	age, _ := strconv.Atoi(p.answer.Header.Get("Age")) // usually missing
	skew := time.Since(date.Add(time.Duration(age) * time.Second)).Round(time.Second)
	text := "this machine's clock differs by " + humanize.Comma(int64(skew.Abs()/time.Second)) + " s from that of " + p.cfg.Source.URL.Host + ": it says " + time.Now().UTC().Format(time.RFC3339)
	switch {
	case skew.Abs() >= clockFailure:
		return []Finding{failure(nextClock, "%s", text)}
	case skew.Abs() >= clockHint:
		return []Finding{hint(nextClock, "%s", text)}
	}
	return []Finding{good("this machine's clock is right")}
}
