package releases

import (
	"fmt"
	"net/http"
	"net/url"

	"syncd/internal/emulator/catalogue"
	"syncd/internal/emulator/wire"
)

// manifestReleases answers GET /ManifestReleases/{manifest}.
func (s *Service) manifestReleases(c *call) {
	var releases []string
	if len(c.args) == 1 {
		releases = s.cfg.Catalogue.Releases(c.args[0])
	}
	if len(releases) == 0 {
		c.notFound("invalidManifest", "manifest")
		return
	}
	c.replyIfChanged(releases)
}

// manifest answers GET /Manifest/{release}/{manifest}.
func (s *Service) manifest(c *call) {
	if len(c.args) != 2 {
		wire.Empty(http.StatusNotFound).Write(c.w)
		return
	}
	name := c.args[1]
	available := s.cfg.Catalogue.Releases(name)
	if len(available) == 0 {
		c.notFound("invalidManifest", "manifest")
		return
	}
	release, ok := catalogue.ResolveRelease(available, c.args[0])
	var l catalogue.List
	if ok {
		l, ok = s.cfg.Catalogue.List(name, release)
	}
	if !ok {
		c.notFound("invalidRelease", "release")
		return
	}
	c.replyIfChanged(links(l, c.base, c.id))
}

// links returns the links of a list. Every other one has a slash before the
// query, so that clients meet both forms.
func links(l catalogue.List, base, id string) []string {
	if l.IsRaw {
		return l.Links
	}
	all := make([]string, len(l.Items))
	id = url.QueryEscape(id)
	for i, it := range l.Items {
		all[i] = link(base, it.File, id, i%2 == 0)
	}
	return all
}

// manifestList answers GET /ManifestList/{release}. It lists each manifest at the
// release asked for, or at its newest release before that.
func (s *Service) manifestList(c *call) {
	var asked string
	var ok bool
	if len(c.args) == 1 {
		asked, ok = catalogue.ResolveRelease(s.cfg.Catalogue.AllReleases(), c.args[0])
	}
	if !ok {
		c.notFound("invalidRelease", "release")
		return
	}
	var infos []manifestInfo
	for _, name := range s.cfg.Catalogue.Manifests() {
		if release, ok := newestUpTo(s.cfg.Catalogue.Releases(name), asked); ok {
			infos = append(infos, manifestInfo{
				Name:        name,
				Description: "The files of " + name + ".",
				URL: fmt.Sprintf("%s/Manifest/%s/%s/?ID=%s", c.base,
					url.PathEscape(release), url.PathEscape(name), url.QueryEscape(c.id)),
			})
		}
	}
	c.reply(c.format, renderManifests(c.format, infos))
}

func newestUpTo(releases []string, limit string) (string, bool) {
	for i := len(releases) - 1; i >= 0; i-- {
		if catalogue.CompareReleases(releases[i], limit) <= 0 {
			return releases[i], true
		}
	}
	return "", false
}
