package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"syncd/internal/manifest/refusal"
	"syncd/internal/metrics/tracing"
)

// Do sends a request, retries transient faults and returns the whole body. The body
// is not redacted: callers redact what they pass on. Errors are *Error, *CoolingDown
// or the context's.
func (c *Client) Do(ctx context.Context, req Request) (res *Response, body []byte, err error) {
	err = c.Read(ctx, req, func(answer *Response) (err error) {
		res = answer
		body, err = io.ReadAll(answer.Body)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return res, body, nil
}

// Read is Do for a body that is read as it arrives. Each attempt calls read with a body
// of at most req.Limit bytes. An error of the body reaches Read's caller or a further
// attempt; any other error of read ends the request and is returned unchanged.
func (c *Client) Read(ctx context.Context, req Request, read func(*Response) error) error {
	ctx = withSubject(ctx)
	ctx, span := tracing.Start(ctx, "question", "")
	resends := int64(-1)
	attempt := func(func()) error {
		resends++
		return c.exchange(ctx, &req, read)
	}
	var err error
	if req.Once {
		err = attempt(nil)
	} else {
		err = c.Retry(ctx, req.Endpoint, attempt)
	}
	if span != nil {
		endSpan(ctx, span, req.Endpoint, resends, err)
	}
	return err
}

// endSpan ends the span of a question. Its error has no Customer ID.
func endSpan(ctx context.Context, span *tracing.Span, endpoint string, resends int64, err error) {
	span.Set(tracing.Manifest, subjectOf(ctx).name)
	span.Set(tracing.Endpoint, endpoint)
	if resends > 0 {
		span.SetNumber(tracing.Resends, resends)
	}
	if failed, ok := errors.AsType[*Error](err); ok && failed.Status > 0 {
		span.SetNumber(tracing.Status, int64(failed.Status))
	}
	span.End(err)
}

// exchange sends a request once and reads the body. It gives a slow body up after the
// retry budget and one stall timeout.
func (c *Client) exchange(ctx context.Context, req *Request, read func(*Response) error) error {
	watch := newStallWatch(ctx, c.cfg.StallTimeout)
	defer watch.end()
	watch.endWithin(c.cfg.Retry.MaxElapsed + c.cfg.StallTimeout)
	res, err := c.open(ctx, req, watch)
	if err == nil {
		defer res.Body.Close()
		tooLarge := func() error {
			return c.fail(ctx, req, res.Status, refusal.New(refusal.TooLarge, "the response body is larger than %d bytes", req.Limit))
		}
		res.Body = &limitedBody{ReadCloser: res.Body, left: req.Limit, tooLarge: tooLarge}
		err = read(res)
	}
	if errors.Is(err, errTooSlow) {
		err = c.fail(ctx, req, 0, errTooSlow)
	}
	return err
}

// limitedBody is a body that fails instead of giving more bytes than its limit.
type limitedBody struct {
	io.ReadCloser
	left     int64
	tooLarge func() error
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if int64(n) > b.left {
		n, err = int(b.left), b.tooLarge()
	}
	b.left -= int64(n)
	return n, err
}

// Open sends a request once, without retries, follows redirects and returns the
// response with its body unread. Errors are as for Do.
func (c *Client) Open(ctx context.Context, req Request) (*Response, error) {
	watch := newStallWatch(ctx, c.cfg.StallTimeout)
	res, err := c.open(ctx, &req, watch)
	if err != nil {
		watch.end()
	}
	return res, err
}

// open is Open under a watch. Closing the response's body ends the watch.
func (c *Client) open(ctx context.Context, req *Request, watch *stallWatch) (*Response, error) {
	target := address{c.URL(*req), c.base.origin}
	for range maxRedirects + 1 {
		if err := c.cfg.Gate.wait(watch.ctx, target.origin, c.cfg.Retry.MaxElapsed); err != nil {
			if watch.ctx.Err() != nil { // also after a redirect whose body was slow to close
				err = c.fail(ctx, req, 0, context.Cause(watch.ctx))
			}
			return nil, err
		}
		answer, err := c.send(ctx, req, target, watch)
		if err != nil {
			return nil, err
		}
		location := redirection(answer)
		if location == "" {
			res := c.response(ctx, req, answer, watch)
			res.Destroy, res.IsUpstream = c.base.orders(target.origin, answer, c.cfg.Report)
			return c.checkStatus(req, target, res, watch)
		}
		drain(answer, watch)
		if target, err = c.follow(req, target.url, location); err != nil {
			return nil, err
		}
	}
	return nil, &Error{Kind: Rejected, Endpoint: req.Endpoint, Path: c.path(req), Err: fmt.Errorf("more than %d redirects", maxRedirects)}
}

// path is the part of a request's address that errors show.
func (c *Client) path(req *Request) string {
	return c.redact.ForNames().String("/" + strings.Join(req.escaped(), "/"))
}

// send makes one exchange with one host. It does without http.Client, which adds a
// Referer to redirected requests and prints whole URLs in its errors.
func (c *Client) send(ctx context.Context, req *Request, target address, watch *stallWatch) (*http.Response, error) {
	requestCtx := watch.ctx
	if c.own != nil {
		requestCtx = context.WithValue(requestCtx, atBase{}, target.url.Hostname() == c.base.url.Hostname())
	}
	request, err := newRequest(requestCtx, req)
	if err != nil {
		return nil, &Error{Kind: Rejected, Endpoint: req.Endpoint, Path: c.path(req), Err: c.redact.Error(err)}
	}
	request.URL, request.Host = target.url, target.url.Host
	request.Header = c.addState(req, target.origin, c.base.header(req, target.origin))
	if err := c.sign(request, target); err != nil {
		return nil, c.fail(ctx, req, 0, err)
	}
	c.traceRequest(req, request, target)
	p := c.poolFor(req, target.url)
	wait := c.waitFor(ctx, req, target, watch)
	answer, err := c.roundTrip(p, request, watch, wait)
	if p == &c.bulk && refusesHTTP1(err) {
		c.bulk.rt.Store(c.small.rt.Load())
		answer, err = c.roundTrip(p, request, watch, wait)
	}
	if err != nil {
		c.observe(req.Endpoint, "error")
		return nil, c.fail(ctx, req, 0, contextError(watch.ctx, explainTLS(target.url.Host, err)))
	}
	c.observe(req.Endpoint, strconv.Itoa(answer.StatusCode))
	c.traceResponse(answer)
	c.recognise(target.origin, answer)
	return answer, nil
}

// waitFor returns a function that begins to watch for the answer. A slow one is told.
func (c *Client) waitFor(ctx context.Context, req *Request, target address, watch *stallWatch) (begin func()) {
	about, began := subjectOf(ctx), time.Now()
	slow := func() {
		about.waits(c.cfg.Tell, began, c.fail(ctx, req, 0, fmt.Errorf("no %s for %s", watch.missing(target.origin), slowAfter)), watch)
	}
	return func() {
		silence := about.silence()
		watch.waitForAnswer(c.cfg.Retry.MaxElapsed-silence, silence > 0, slow)
	}
}

// sign signs a request to the origin of the base. Each attempt has a signature of its own,
// because servers accept one for a few minutes only.
func (c *Client) sign(request *http.Request, target address) error {
	if c.cfg.Sign == nil || target.origin != c.base.origin {
		return nil
	}
	request.Header = request.Header.Clone() // other requests share it
	return c.cfg.Sign(request)
}

// response returns answer with its body under the watch.
func (c *Client) response(ctx context.Context, req *Request, answer *http.Response, watch *stallWatch) *Response {
	wrap := func(err error) error { return c.fail(ctx, req, answer.StatusCode, err) }
	body := &watchedBody{body: answer.Body, watch: watch, wrap: wrap}
	if kindOfStatus(answer.StatusCode) != Transient {
		body.about = subjectOf(ctx)
		body.about.answered()
	}
	return &Response{Status: answer.StatusCode, Header: answer.Header, Length: answer.ContentLength, Body: body}
}

// newRequest returns a request without an address.
func newRequest(ctx context.Context, req *Request) (*http.Request, error) {
	var body io.Reader
	switch {
	case len(req.Body) > 0:
		body = bytes.NewReader(req.Body)
	case req.Once:
		// net/http repeats a GET on a closed connection by itself, unless the request
		// has a body that cannot be read twice.
		body = io.NopCloser(strings.NewReader(""))
	}
	return http.NewRequestWithContext(ctx, req.method(), "", body)
}

func (c *Client) observe(endpoint, code string) {
	if c.cfg.Observer != nil {
		c.cfg.Observer.Request(endpoint, code)
	}
}

// fail returns an *Error with a cause, or the caller's context error when that ended.
func (c *Client) fail(ctx context.Context, req *Request, status int, err error) error {
	if ended := context.Cause(ctx); ended != nil {
		return ended
	}
	return &Error{Kind: kindOfFailure(err), Endpoint: req.Endpoint, Path: c.path(req), Status: status, Err: c.redact.Error(err)}
}

// checkStatus passes a success on and turns every other status into an error. A 304
// is a success only for a conditional request.
func (c *Client) checkStatus(req *Request, target address, res *Response, watch *stallWatch) (*Response, error) {
	if res.Status/100 == 2 || res.Status == http.StatusNotModified && req.isConditional() {
		res.Header = c.redact.header(res.Header)
		return res, nil
	}
	defer res.Body.Close()
	watch.endWithin(c.cfg.StallTimeout) // do not wait for a slow error body
	var body []byte
	// The body of a 101 is the bare connection, whose end may never come. That of a 407 is
	// the proxy's and can repeat its password.
	if res.Status >= 200 && res.Status != http.StatusProxyAuthRequired {
		body, _ = io.ReadAll(io.LimitReader(res.Body, maxProblem)) // without a body the status is still an error
	}
	kind, message := parseProblem(body, c.redact)
	failed := &Error{
		Kind: kindOfStatus(res.Status), Endpoint: req.Endpoint, Path: c.path(req),
		Status: res.Status, Type: kind, Message: message, Body: c.redact.Body(body), IsUpstream: res.IsUpstream, origin: target.origin, signed: c.cfg.Sign != nil,
	}
	if failed.Kind == Transient {
		if failed.RetryAfter = retryAfter(res.Header, time.Now()); failed.RetryAfter > 0 {
			c.cfg.Gate.Hold(failed.origin, failed.RetryAfter)
		}
	}
	return nil, failed
}
