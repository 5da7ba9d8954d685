package releases

import (
	"strings"

	"syncd/internal/clients/transport"
	"syncd/internal/manifest/refusal"
)

// Limits of lists in entries. Each file of a manifest costs at least one request.
const (
	maxFiles     = 250_000
	maxReleases  = 10_000
	maxManifests = 100_000
)

// Limits of the text that is kept of a list of ids or of manifests, in bytes. A process
// asks for the ids of all its manifests at once, and for manifests once.
const (
	maxIDs     = 512 << 10
	maxEntries = 8 << 20
)

// limit bounds what is kept of a list.
type limit struct {
	entries int // allowed
	bytes   int // of text allowed
	seen    int
	text    int // bytes kept
}

// count counts an entry before it is kept.
func (l *limit) count() error {
	if l.seen++; l.seen > l.entries {
		return refusal.New(refusal.TooLarge, "list is larger than %d entries", l.entries)
	}
	return nil
}

// keep counts the texts of an entry that stay in memory.
func (l *limit) keep(texts ...string) error {
	for _, text := range texts {
		l.text += len(text)
	}
	if l.text > l.bytes {
		return refusal.New(refusal.TooLarge, "list is larger than %d bytes of text", l.bytes)
	}
	return nil
}

// maxText limits a text of the provider that callers may show, in bytes.
const maxText = 1000

// redacted returns a text of the provider without the Customer ID and limited in length.
func redacted(text string, redact transport.Redactor) string {
	text = redact.String(text) // first: the limit could cut an ID in two
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}
