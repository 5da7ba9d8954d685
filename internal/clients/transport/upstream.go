package transport

import (
	"maps"
	"net/http"
)

// The headers by which a follower and its upstream, another syncd, recognise each other.
const (
	HeaderState    = "Syncd-State"    // the state of a follower, in requests
	HeaderUpstream = "Syncd-Upstream" // in each answer of an upstream
	HeaderDestroy  = "Syncd-Destroy"  // in answers about a manifest: what followers must destroy of it
	Upstream       = "1"              // its value
)

// addState adds the state of this follower to the headers of a request. The header of an
// answer proves nothing, so Config.Report stands before it. Origins that a redirect names
// never get the state.
func (c *Client) addState(req *Request, origin string, header http.Header) http.Header {
	if len(req.State) == 0 || !c.cfg.Report || origin != c.base.origin || !c.isSyncd.Load() && !req.IsKnown {
		return header
	}
	header = maps.Clone(header) // it may be shared
	header[HeaderState] = req.State
	return header
}

// orders is what an answer of the upstream says that this host must do. It is nothing from a
// server that the operator did not name as a syncd, and from those that a redirect names.
func (b base) orders(origin string, answer *http.Response, isNamed bool) (text string, isUpstream bool) {
	if !isNamed || origin != b.origin || answer.Header.Get(HeaderUpstream) != Upstream {
		return "", false
	}
	return answer.Header.Get(HeaderDestroy), true
}

// recognise notes what the answers of the base's origin say about it: whether it is a syncd,
// and its time. The date of an answer from a cache is an old one.
func (c *Client) recognise(origin string, answer *http.Response) {
	if origin != c.base.origin {
		return
	}
	c.isSyncd.Store(answer.Header.Get(HeaderUpstream) == Upstream)
	if c.cfg.Dated == nil || answer.Header.Get("Age") != "" {
		return
	}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		c.cfg.Dated(date)
	}
}
