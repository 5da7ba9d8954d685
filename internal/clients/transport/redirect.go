package transport

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"syncd/internal/clients/origin"
	"syncd/internal/manifest/refusal"
)

// redirection returns the Location of a redirect, "" for every other response.
func redirection(answer *http.Response) string {
	if answer.StatusCode < 300 || answer.StatusCode > 399 || answer.StatusCode == http.StatusNotModified {
		return ""
	}
	return answer.Header.Get("Location")
}

// A connection can be reused only after the body was read to its end. Up to these
// limits reading is cheaper than a new connection.
const (
	maxDrained = 4 << 10
	drainTime  = time.Second
)

// drain reads and closes the body of a redirect.
func drain(answer *http.Response, watch *stallWatch) {
	defer watch.close(answer.Body)
	if answer.ContentLength != 0 && answer.ContentLength <= maxDrained {
		watch.resume()
		defer time.AfterFunc(drainTime, func() { answer.Body.Close() }).Stop()
		_, _ = io.CopyN(io.Discard, answer.Body, maxDrained+1) // a failure only costs the connection
	}
}

// follow returns the target of a redirect. The configured origin gets the Customer
// ID again. No other origin gets it, even when the Location repeats it.
func (c *Client) follow(req *Request, from *url.URL, location string) (address, error) {
	reject := func(err error) (address, error) {
		kind := Rejected
		if refusal.ReasonOf(err) != "" {
			kind = Malformed
		}
		return address{}, &Error{Kind: kind, Endpoint: req.Endpoint, Path: c.path(req), Err: err}
	}
	if req.Once || !isRead(req.method()) {
		return reject(errors.New("redirect of a request that must not be repeated"))
	}
	target, err := from.Parse(location)
	if err != nil || target.Host == "" {
		return reject(errors.New("redirect to an invalid address"))
	}
	if err := c.checkScheme(from, target); err != nil {
		return reject(err)
	}
	target.User, target.Fragment = nil, ""
	to := address{target, origin.Of(target)}
	if to.origin == c.base.origin {
		c.addID(target)
		return to, nil
	}
	c.stripID(target)
	if c.redact.ForNames().Contains(target.String()) || c.HoldsID(target.Path) || c.redact.is(target.Hostname()) {
		return reject(errors.New("redirect to another host with the Customer ID in its address"))
	}
	return to, nil
}

func (c *Client) checkScheme(from, target *url.URL) error {
	switch {
	case target.Scheme == "https":
		return nil
	case target.Scheme != "http":
		return errors.New("redirect to a scheme that is not http or https")
	case from.Scheme == "https":
		return refusal.New(refusal.Insecure, "redirect from https to plain http")
	case !origin.IsLoopback(target.Hostname()) && !c.cfg.AllowInsecureHTTP:
		return refusal.New(refusal.Insecure, "redirect to plain http: set allow_insecure_http: true if the network is trusted")
	}
	return nil
}

func (c *Client) addID(target *url.URL) {
	if c.cfg.IDParam == "" {
		return
	}
	for name := range target.Query() {
		if strings.EqualFold(name, c.cfg.IDParam) {
			return
		}
	}
	id := url.Values{c.cfg.IDParam: {c.cfg.CustomerID}}.Encode()
	target.RawQuery = strings.TrimPrefix(target.RawQuery+"&"+id, "&")
}
