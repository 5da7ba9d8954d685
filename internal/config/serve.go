package config

import (
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"syncd/internal/clients/origin"
	"syncd/internal/host/rate"
)

// Serve is the server for followers: other hosts that take the data from this one.
type Serve struct {
	Listen    string         // host:port, "" = no server
	PublicURL *url.URL       // what links in manifests begin with; set when Listen is
	WebConfig string         // exporter-toolkit file with TLS, absolute after Load, "" = plain http
	IDsFile   string         // the followers' ids, absolute after Load; "" = only loopback may ask
	Bandwidth rate.Timetable // bytes per second for all followers together
	Keep      time.Duration  // a release that a follower asked about stays downloadable for so long
	Rings     []Ring         // the earlier ones come first; none means that everybody sees all
}

// IsOn is true when followers are served.
func (s Serve) IsOn() bool { return s.Listen != "" }

// warnings are lines about a server that does not do what was probably meant.
func (s Serve) warnings(file string) (lines []string) {
	if !s.IsOn() || origin.IsLoopback(s.PublicURL.Hostname()) {
		return nil
	}
	if s.IDsFile == "" {
		lines = append(lines, place{key: "serve.ids_file"}.error(file, fault{"is missing, so that only programs on this host may ask", "name a file, and make ids with `syncd serve-id add`"}).Error())
	}
	if s.PublicURL.Scheme == "http" {
		lines = append(lines, place{key: "serve.public_url"}.error(file, fault{"plain http is insecure: the ids of followers travel unencrypted", "use https, with serve.web_config or a proxy"}).Error())
	}
	return lines
}

// SameServer is true when both need the same server; the rest can change while it runs.
func (s Serve) SameServer(other Serve) bool { return reflect.DeepEqual(s, s.WithServer(other)) }

// WithServer returns s with the server of another configuration.
func (s Serve) WithServer(other Serve) Serve {
	s.Listen, s.PublicURL, s.WebConfig, s.IDsFile = other.Listen, other.PublicURL, other.WebConfig, other.IDsFile
	return s
}

// Ring is a set of followers that see a new release at the same time.
type Ring struct {
	Name      string
	Delay     time.Duration // from when a release went live here until the ring sees it
	StopAbove float64       // share of an earlier ring's hosts that may refuse a release, 0 to 1; NeverStop for no limit
}

// NeverStop is a StopAbove that no share reaches.
const NeverStop = -1

// maxRings limits the rings.
const maxRings = 32

func (d *decoder) serve(s *Serve) setter {
	return func(d *decoder, path string, n *node) {
		keys(table{
			"listen":     scalar(&s.Listen, parseListen),
			"public_url": scalar(&s.PublicURL, parsePublicURL),
			"web_config": scalar(&s.WebConfig, d.besideConfig),
			"ids_file":   scalar(&s.IDsFile, d.besideConfig),
			"bandwidth":  scalar(&s.Bandwidth, parseBandwidth),
			"keep":       scalar(&s.Keep, parseLongDuration),
			"rings":      rings(&s.Rings),
		})(d, path, n)
		d.checkServe(path, s)
	}
}

func (d *decoder) checkServe(path string, s *Serve) {
	if s.IsOn() && s.PublicURL == nil && d.valid(path+".public_url") {
		d.fail(path+".public_url", fault{"is missing", "write the address by which followers reach this host, such as https://mirror.example.net"})
	}
}

// parsePublicURL accepts scheme, host and port: a client takes parts of a link by their
// position in the path.
func parsePublicURL(text string) (*url.URL, *fault) {
	u, f := parseURL(text)
	if f != nil {
		return nil, f
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.User != nil {
		return nil, &fault{"has more than scheme, host and port", "use a form such as https://mirror.example.net"}
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

// rings is the setter of `rings`.
func rings(to *[]Ring) setter {
	return func(d *decoder, path string, n *node) {
		if n.null {
			return
		}
		if n.kind != listKind || len(n.items) > maxRings {
			d.fail(path, fault{"must be a list of at most " + strconv.Itoa(maxRings) + " rings", "write it as [{name: canary, delay: 0s}, {name: rest, delay: 24h}]"})
			return
		}
		for i, item := range n.items {
			at := index(path, i)
			d.at[at] = item.at
			ring := Ring{StopAbove: NeverStop}
			keys(table{
				"name":       scalar(&ring.Name, parseFollower),
				"delay":      scalar(&ring.Delay, parseDuration),
				"stop_above": scalar(&ring.StopAbove, parsePercent),
			})(d, at, item)
			d.checkRing(at, ring, *to)
			*to = append(*to, ring)
		}
	}
}

func (d *decoder) checkRing(path string, ring Ring, earlier []Ring) {
	switch {
	case !d.valid(path+".name", path+".delay"):
	case ring.Name == "":
		d.fail(path+".name", fault{"is missing", "give each ring a name such as canary"})
	case slices.ContainsFunc(earlier, func(e Ring) bool { return e.Name == ring.Name }):
		d.fail(path+".name", fault{"names an earlier ring, too", "give each ring a name of its own"})
	case len(earlier) > 0 && earlier[len(earlier)-1].Delay > ring.Delay:
		d.fail(path+".delay", fault{"is shorter than that of the ring before", "list the rings by their delays, the shortest first"})
	}
}

// ParseFollower parses the name of a follower's id or of a ring. Its error does not quote
// the text.
func ParseFollower(text string) (string, error) {
	name, f := parseFollower(text)
	if f != nil {
		return "", place{}.error("", *f)
	}
	return name, nil
}

// parseFollower accepts a name that can stand in a file of words, in labels and in logs.
func parseFollower(text string) (string, *fault) {
	if !paramPattern.MatchString(text) {
		return "", &fault{"is not a plain name", "use up to 64 letters, digits, dots, underscores and dashes"}
	}
	return text, nil
}
