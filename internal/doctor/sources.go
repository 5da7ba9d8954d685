//go:build linux

package doctor

import (
	"context"
	"fmt"
	"slices"

	"syncd/internal/config"
	"syncd/internal/config/document"
)

// isFirst is true for the only source, and for the first one of a list: the unit and the
// environment give that one its Customer ID.
func (s *setup) isFirst() bool {
	return s.sourceAt == "source" || s.sourceAt == document.Index("source", 0)
}

// ofSource are the checks of a source.
var ofSource = []string{"customer ID", "credentials", "name resolution", "connection", "TLS", "service", "clock", "licence", "download"}

// checkSources makes the checks of a source for those after the first one.
func (e *examination) checkSources(ctx context.Context) []Finding {
	var found []Finding
	for i, s := range e.cfg.Others {
		found = append(found, of(s.Name, e.checkSource(ctx, s, document.Index("source", i+1)))...)
	}
	return orGood(found, "there is no list of sources")
}

// checkSource returns what needs a word, or that the source can be used.
func (e *examination) checkSource(ctx context.Context, source config.Source, at string) (found []Finding) {
	other := newExamination(e.Options)
	*other.setup = *e.setup
	cfg := *e.cfg
	cfg.Source, cfg.Others = source, nil
	other.cfg, other.sourceAt, other.id = &cfg, at, ""
	defer other.close()
	causes := map[string]string{}
	for _, c := range e.checks {
		if !slices.Contains(ofSource, c.name) {
			continue
		}
		c.needs = slices.DeleteFunc(slices.Clone(c.needs), func(need string) bool { return !slices.Contains(ofSource, need) })
		isBlocked := slices.ContainsFunc(c.needs, func(need string) bool { return causes[need] != "" })
		all := other.run(ctx, c, causes)
		if isBlocked {
			continue // the cause is told already
		}
		if slices.ContainsFunc(all, Finding.blocks) {
			causes[c.name] = c.name
		}
		found = append(found, slices.DeleteFunc(all, func(f Finding) bool { return f.Severity == OK })...)
	}
	for i, f := range found {
		found[i].Text = f.Check + ": " + f.Text
	}
	return orGood(found, "%s can be used", source.URL.Host)
}

// of says which source or place of a list findings are about; "" is the only one.
func of(name string, found []Finding) []Finding {
	for i := range found {
		if name != "" {
			found[i].Text = fmt.Sprintf("%s: %s", name, found[i].Text)
		}
	}
	return found
}
