package transport

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Curl returns a command for a shell that has curl send a request as this client sends it.
// It reads the Customer ID from a variable of the shell; mark stands for the ID in the
// request's body, where the shell escapes nothing. Values of the configured address's own
// query are left out.
func (c *Client) Curl(req Request, mark, variable string) string {
	quote := func(s string) string {
		quoted := "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		return strings.TrimSuffix(strings.ReplaceAll(quoted, mark, `'"$`+variable+`"'`), "''")
	}
	address := c.URL(req)
	lines := []string{"curl -sS --location " + quote(c.redact.String(PublicURL(address)))}
	add := func(flag, value string) { lines = append(lines, "  "+flag+" "+quote(value)) }
	for _, name := range slices.Sorted(maps.Keys(req.Header)) {
		for _, value := range req.Header[name] {
			add("--header", name+": "+value)
		}
	}
	for _, option := range []struct{ flag, value string }{
		{"--cacert", c.cfg.CAFile}, {"--cert", c.cfg.ClientCert}, {"--key", c.cfg.ClientKey}, {"--proxy", publicProxy(c.cfg.Proxy)},
	} {
		if option.value != "" {
			add(option.flag, option.value)
		}
	}
	if isRead(req.method()) {
		lines[0] += " --get"
	} else {
		add("--data-binary", string(c.redact.Body(req.Body)))
	}
	for _, field := range c.curlQuery(address.Query(), req, mark) {
		add("--data-urlencode", field)
	}
	return strings.Join(lines, " \\\n") + "\n"
}

func publicProxy(proxy *url.URL) string {
	if proxy == nil {
		return ""
	}
	return PublicURL(proxy)
}

// curlQuery returns the query of a GET as name=value, which curl encodes.
func (c *Client) curlQuery(query url.Values, req Request, mark string) []string {
	if !isRead(req.method()) {
		return nil
	}
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			switch {
			case name == c.cfg.IDParam:
				value = mark
			case !req.Query.Has(name):
				value = redacted
			}
			fields = append(fields, fmt.Sprintf("%s=%s", url.QueryEscape(name), c.redact.String(value)))
		}
	}
	return fields
}
