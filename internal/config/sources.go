package config

import (
	"fmt"
	"slices"
	"time"

	"syncd/internal/clients/transport"
	"syncd/internal/config/document"
	"syncd/internal/config/value"
)

// maxSources bounds a list of sources, and nextPatience is how long a source is asked again
// when there is another one after it, unless its own retry.max_elapsed says so.
const (
	maxSources   = 8
	nextPatience = 30 * time.Second
)

// Sources are the source and the others, in order of preference.
func (c *Config) Sources() []Source { return append([]Source{c.Source}, c.Others...) }

// EachSource calls do with the key of each source and its settings, until one returns an error.
func (c *Config) EachSource(do func(key string, s *Source) error) error {
	err := do(c.sourcePath(0), &c.Source)
	for i := 0; i < len(c.Others) && err == nil; i++ {
		err = do(c.sourcePath(i+1), &c.Others[i])
	}
	return err
}

// SourceURLs are the addresses of all sources, as records show them.
func (c *Config) SourceURLs() (urls []string) {
	for _, s := range c.Sources() {
		urls = append(urls, transport.PublicURL(s.URL))
	}
	return urls
}

// UsesS3 is true when a source or a place to publish to is in object storage.
func (c *Config) UsesS3() bool {
	return c.Publish.S3.IsSet() || slices.ContainsFunc(c.Sources(), func(s Source) bool { return s.S3.IsSet() })
}

// sourcePath is the key of a source.
func (c *Config) sourcePath(i int) string {
	if len(c.Others) == 0 {
		return "source"
	}
	return document.Index("source", i)
}

// sources is the setter of a source or of a list of them.
func (d *decoder) sources(c *Config) document.Setter {
	return func(doc *document.Decoder, path string, n *document.Node) {
		if n.Kind != document.ListKind {
			document.Keys(d.sourceKeys(&c.Source))(doc, path, n)
			return
		}
		if len(n.Items) < 2 || len(n.Items) > maxSources {
			d.Fail(path, fmt.Sprintf("is a list of %d", len(n.Items)), "write one source as a mapping, or a list of 2 to 8 in order of preference")
			return
		}
		all := make([]Source, len(n.Items))
		for i, item := range n.Items {
			all[i] = c.Source // the defaults
			at := document.Index(path, i)
			d.SetPosition(at, item.At)
			if item.Kind != document.MappingKind {
				d.Fail(at, "must be a mapping", "write {name: NAME, url: URL} or {name: NAME, s3: {endpoint: URL, bucket: BUCKET}}")
				continue
			}
			keys := d.sourceKeys(&all[i])
			keys["name"] = document.Scalar(&all[i].Name, value.Name)
			d.Mapping(at, item, keys)
			all[i].Credential.isFurther = i > 0
			if i < len(all)-1 && !d.IsSet(at+".retry.max_elapsed") {
				all[i].Retry.MaxElapsed = nextPatience
			}
		}
		c.Source, c.Others = all[0], all[1:]
	}
}

// checkSources checks how the values of all sources relate. Only the first one has a Customer
// ID of the environment: it must reach no other host.
func (d *decoder) checkSources(c *Config) {
	env, i := d.env, 0
	_ = c.EachSource(func(at string, s *Source) error { // fails never
		d.checkSource(at, s, env)
		env = Environment{}
		return nil
	})
	if len(c.Others) == 0 {
		return
	}
	_ = c.EachSource(func(at string, s *Source) error {
		before := c.Sources()[:i]
		i++
		if s.Name == "" && s.URL != nil {
			s.Name = s.URL.Host
		}
		isBefore := func(same func(Source) bool) bool { return slices.ContainsFunc(before, same) }
		switch {
		case s.Bundles != "":
			d.Fail(at+".bundles", "is not for a list", "name the folder as the only source, or take bundles by `syncd bundle import`, beside any source")
		case s.TrustFile != c.Source.TrustFile:
			d.Fail(at+".trust_file", "is not that of source[0]", "give all sources the same trust_file, or none: one that needs no signature could bring what the others must not")
		case isBefore(func(other Source) bool { return other.Name == s.Name }):
			d.Fail(at, "has the name of a source above", "give each a name of its own")
		case s.URL != nil && isBefore(func(other Source) bool { return other.URL != nil && other.URL.String() == s.URL.String() }):
			d.Fail(at, "is a source above", "remove it")
		}
		return nil
	})
}
