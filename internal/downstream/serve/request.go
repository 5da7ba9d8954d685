package serve

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"syncd/internal/httpserver/accounts"
	"syncd/internal/manifest"
)

// splitPath decodes the segments of a path one by one, so that an encoded slash stays
// within its name. A slash at the end is allowed. Segments are only looked up in the
// catalog, so none of them is a path on the disk.
func splitPath(escaped string) (verb string, args []string, ok bool) {
	path := strings.TrimSuffix(strings.TrimPrefix(escaped, "/"), "/")
	args = make([]string, 0, 8)
	for s := range strings.SplitSeq(path, "/") {
		decoded, err := url.PathUnescape(s)
		if err != nil {
			return "", nil, false
		}
		args = append(args, decoded)
	}
	return args[0], args[1:], true
}

// parameter returns the first value of a query parameter, "" for none. Names are matched
// without case: the provider's own links spell id as ID. A name with escapes is unknown, as
// it is to caches: otherwise they would take a file with a tag for the one without.
func parameter(query, name string) string {
	for part := range strings.SplitSeq(query, "&") {
		key, value, isPair := strings.Cut(part, "=")
		if !isPair || !strings.EqualFold(key, name) {
			continue
		}
		if decoded, err := url.QueryUnescape(value); err == nil {
			return decoded
		}
	}
	return ""
}

// reference reads the segments of a file: the class, the segments of the class, the
// release when released is true, and the name.
func reference(args []string, released bool) (p manifest.Parts, ok bool) {
	if len(args) == 0 {
		return p, false
	}
	class, rest := args[0], args[1:]
	if p.Class = classOf(class); p.Class == "" {
		return p, false
	}
	if p.Class == manifest.Library || p.Class == manifest.Interface {
		if len(rest) < 3 {
			return p, false
		}
		p.OS, p.Architecture = rest[0], rest[2]
		if p.Class == manifest.Library {
			p.Compiler = rest[1]
		} else {
			p.Language = rest[1]
		}
		rest = rest[3:]
	}
	switch {
	case released && len(rest) == 2:
		p.Release, p.Name = manifest.Release(rest[0]), rest[1]
	case !released && len(rest) == 1:
		p.Name = rest[0]
	default:
		return p, false
	}
	return p, true
}

// classOf finds a class without case, "" for an unknown one.
func classOf(name string) manifest.Class {
	for _, class := range []manifest.Class{manifest.Data, manifest.Library, manifest.Interface, manifest.Product} {
		if strings.EqualFold(name, string(class)) {
			return class
		}
	}
	return ""
}

// authorise notes the id of a request and who asks. ok is false for one who may not.
func (s *Service) authorise(c *call) (who accounts.Identity, ok bool) {
	if c.id = parameter(c.r.URL.RawQuery, s.cfg.IDParam); c.id == "" {
		return who, false
	}
	if s.cfg.IDs == nil {
		c.asker = s.cfg.Asker("", "", c.r.Header)
		client, _ := netip.ParseAddrPort(c.r.RemoteAddr) // as net/http writes it
		return accounts.OfAddress(client.Addr()), client.Addr().Unmap().IsLoopback()
	}
	known, ok := s.cfg.IDs.find(c.id)
	if !ok {
		return who, false
	}
	c.name, c.asker = known.Name, s.cfg.Asker(known.Name, known.Ring, c.r.Header)
	return accounts.OfID(known.Name), true
}

// owner is whose connection it is. Without ids, a user of this host could take all places
// with an address for each.
func (s *Service) owner(who accounts.Identity) accounts.Identity {
	if s.cfg.IDs == nil {
		return accounts.Anyone
	}
	return who
}

// wrongPause is how long the answer to a wrong id takes.
const wrongPause = time.Second

// refuse answers a wrong id as the provider does, after a pause, and closes the
// connection. Above a number of such answers at once, it closes without an answer, so that
// guessing at speed takes neither memory nor places of others.
func (s *Service) refuse(a *answer) {
	select {
	case s.wrong <- struct{}{}:
		defer func() { <-s.wrong }()
	default:
		panic(http.ErrAbortHandler) // net/http closes the connection and logs nothing
	}
	pause := time.NewTimer(wrongPause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-a.ctx.Done():
	}
	a.Header().Set("Connection", "close")
	a.problem(http.StatusUnauthorized, typeProblem("invalidLicense", "The Customer ID is missing or not valid."))
}
