package config

import (
	"math"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"syncd/internal/clients/origin"
	"syncd/internal/config/document"
	"syncd/internal/config/ring"
	"syncd/internal/config/value"
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
	KeepMax   int64          // bytes that these may take; 0 for no limit, KeepTenth for a tenth of the file system
	MaxHosts  int            // of one id that are remembered
	Rings     []Ring         // the earlier ones come first; none means that everybody sees all
}

// Ring is a set of followers that see a new release at the same time.
type Ring = ring.Ring

// IsOn is true when followers are served.
func (s Serve) IsOn() bool { return s.Listen != "" }

// HasFleet is true when followers are served, or a bucket has rings of them.
func (c *Config) HasFleet() bool {
	return c.Serve.IsOn() || c.Publish.S3.IsSet() && len(c.Serve.Rings) > 0
}

// warnings are lines about a server that does not do what was probably meant.
func (s Serve) warnings(file string) (lines []string) {
	if !s.IsOn() || origin.IsLoopback(s.PublicURL.Hostname()) {
		return nil
	}
	if s.IDsFile == "" {
		lines = append(lines, document.Place{Key: "serve.ids_file"}.Error(file, "is missing, so that only programs on this host may ask", "name a file, and make ids with `syncd serve-id add`").Error())
	}
	if s.PublicURL.Scheme == "http" {
		lines = append(lines, document.Place{Key: "serve.public_url"}.Error(file, "plain http is insecure: the ids of followers travel unencrypted", "use https, with serve.web_config or a proxy").Error())
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

func (d *decoder) serve(s *Serve) document.Setter {
	return func(core *document.Decoder, path string, n *document.Node) {
		document.Keys(document.Table{
			"listen":     document.Scalar(&s.Listen, value.Listen),
			"public_url": document.Scalar(&s.PublicURL, parsePublicURL),
			"web_config": document.Scalar(&s.WebConfig, d.besideConfig),
			"ids_file":   document.Scalar(&s.IDsFile, d.besideConfig),
			"bandwidth":  document.Scalar(&s.Bandwidth, value.Bandwidth),
			"keep":       document.Scalar(&s.Keep, value.LongDuration),
			"keep_max":   document.Scalar(&s.KeepMax, parseKeepMax),
			"max_hosts":  document.Scalar(&s.MaxHosts, value.Integer(1, 1_000_000)),
			"rings":      ring.List(&s.Rings),
		})(core, path, n)
		checkServe(core, path, s)
		if s.IDsFile != "" {
			d.keys = append(d.keys, keyFile{d.Place(path + ".ids_file"), s.IDsFile, true})
		}
	}
}

// KeepTenth is the default of serve.keep_max.
const KeepTenth = -1

func parseKeepMax(text string) (int64, *document.Fault) {
	if text == "" {
		return KeepTenth, nil
	}
	n, err := humanize.ParseBytes(text)
	switch next := `use a form such as 50GiB, "" for a tenth of the file system, or 0 for no limit`; {
	case err != nil:
		return 0, value.RefuseNumber(text, "is not a size", next)
	case n > math.MaxInt64:
		return 0, document.Refuse("is too large", next)
	}
	return int64(n), nil //nolint:gosec // checked
}

func checkServe(d *document.Decoder, path string, s *Serve) {
	if s.IsOn() && s.PublicURL == nil && d.Valid(path+".public_url") {
		d.Fail(path+".public_url", "is missing", "write the address by which followers reach this host, such as https://mirror.example.net")
	}
}

// parsePublicURL accepts scheme, host and port: a client takes parts of a link by their
// position in the path.
func parsePublicURL(text string) (*url.URL, *document.Fault) {
	u, f := value.URL(text)
	if f != nil {
		return nil, f
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.User != nil {
		return nil, document.Refuse("has more than scheme, host and port", "use a form such as https://mirror.example.net")
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

// ParseFollower parses the name of a follower's id or of a ring. Its error does not quote
// the text.
func ParseFollower(text string) (string, error) {
	name, f := value.PlainName(text)
	if f != nil {
		return "", document.Place{}.Error("", f.Problem, f.Suggestion)
	}
	return name, nil
}
