package manifest

import (
	"net/url"
	"strings"

	"syncd/internal/manifest/refusal"
)

// tagMark stands before the tag in the text of a reference.
const tagMark = "?tag="

// CheckTag refuses a tag that is not one plain word. Tags come from the provider and
// become part of requests, records and text on terminals.
func CheckTag(tag string) error {
	if strings.Contains(tag, "?") {
		return refusal.New(refusal.BadName, "question mark in tag %.64q", tag)
	}
	return CheckSegment(tag)
}

// tagOf returns the tag in the query of a link, "" for none. The rest of the query is
// not read. A server may take either of two different tags, so they are refused.
func tagOf(query string) (tag string, err error) {
	for parameter := range strings.SplitSeq(query, "&") {
		name, raw, _ := strings.Cut(parameter, "=")
		if name, err := url.QueryUnescape(name); err != nil || !strings.EqualFold(name, "tag") {
			continue
		}
		value, err := url.QueryUnescape(raw)
		if err != nil {
			return "", refusal.New(refusal.BadName, "bad percent-encoding in tag %.64q", raw)
		}
		if tag != "" && value != tag {
			return "", refusal.New(refusal.BadShape, "link with two tags, %.64q and %.64q", tag, value)
		}
		tag = value
	}
	return tag, nil
}
