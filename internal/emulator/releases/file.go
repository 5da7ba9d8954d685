package releases

import (
	"strconv"
	"strings"

	"syncd/internal/emulator/catalogue"
	"syncd/internal/emulator/wire"
)

// file finds the file that the path and the tag name. It answers 404 when there is none.
func (s *Service) file(c *call) (*catalogue.Item, bool) {
	if f, ok := reference(c.args, true); ok {
		f.Tag = wire.Parameter(c.query, "tag")
		if it, ok := s.cfg.Catalogue.File(f); ok && it.Content.Size() >= 0 {
			return it, true
		}
	}
	c.noFile()
	return nil, false
}

// fileReleases answers GET /Releases/{class}/…/{filename}.
func (s *Service) fileReleases(c *call) {
	f, ok := reference(c.args, false)
	var releases []string
	if ok {
		releases = s.cfg.Catalogue.FileReleases(f)
	}
	if len(releases) == 0 {
		c.noFile()
		return
	}
	c.replyIfChanged(releases)
}

// metadata answers GET /Metadata/{class}/….
func (s *Service) metadata(c *call) {
	it, ok := s.file(c)
	if !ok {
		return
	}
	sums, err := s.cfg.Catalogue.Sums(c.r.Context(), it, "MD5", "SHA1", "SHA256")
	if err != nil {
		c.unreadable(err)
		return
	}
	c.reply(renderMetadata(c.format, metadataOf(it, sums)))
}

// metadataOf returns the members of the metadata. All values are strings, as on
// the wire.
func metadataOf(it *catalogue.Item, sums map[string]string) wire.Fields {
	fs := wire.Fields{
		{"FileName", it.Name},
		{"Release", it.Release},
		{"FileSize", strconv.FormatInt(it.Content.Size(), 10)},
		{"MD5", sums["MD5"]},
		{"SHA1", sums["SHA1"]},
		{"SHA256", sums["SHA256"]},
	}
	switch it.Class {
	case catalogue.ClassLibrary:
		return append(fs, wire.Fields{
			{"BuildNumber", it.BuildNumber()}, {"OS", it.OS}, {"Compiler", it.Compiler}, {"Architecture", it.Architecture},
		}...)
	case catalogue.ClassInterface:
		return append(fs, wire.Fields{{"Language", it.Language}, {"Architecture", it.Architecture}}...)
	}
	if catalogue.IsMonth(it.Release) {
		fs = append(fs, wire.Field{Key: "BuildDate", Value: strings.Replace(it.Release, ".", "-", 1)})
	}
	return fs
}

// hash answers GET /{hashtype}/{class}/….
func (s *Service) hash(c *call, hashType string) {
	it, ok := s.file(c)
	if !ok {
		return
	}
	sums, err := s.cfg.Catalogue.Sums(c.r.Context(), it, hashType)
	if err != nil {
		c.unreadable(err)
		return
	}
	c.reply(c.format, renderString(c.format, sums[hashType]))
}
