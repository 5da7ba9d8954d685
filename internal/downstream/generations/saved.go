package generations

import (
	"crypto/sha256"
	"encoding/json"
	"strings"

	"syncd/internal/downstream/bucket"
	"syncd/internal/manifest"
)

// saved is what the state has of a ring.
type saved struct {
	Text      string `json:"text"`
	Statement string `json:"statement,omitempty"`

	Told manifest.ObjectID `json:"told,omitzero"` // the upstream's generation that was passed on last, under toldKey
}

// toldKey stands before the name of a ring, which has no slash.
const toldKey = "told/"

// ringLocked returns a ring, a new one at first.
func (g *Generations) ringLocked(name string) *ring {
	if g.rings[name] == nil {
		g.rings[name] = &ring{name: name}
	}
	return g.rings[name]
}

// load takes up what was saved. A generation that cannot be read is composed again.
func (g *Generations) load() error {
	return g.cfg.Store.Generations(func(name string, value json.RawMessage) error {
		var s saved
		var named struct {
			Number int `json:"generation"`
		}
		if ring, isTold := strings.CutPrefix(name, toldKey); isTold {
			_ = json.Unmarshal(value, &s) // nothing was told if it is of another version of syncd
			g.ringLocked(ring).told = s.Told
			return nil
		}
		if json.Unmarshal(value, &s) != nil || json.Unmarshal([]byte(s.Text), &named) != nil {
			return nil //nolint:nilerr // it is of another version of syncd
		}
		if named.Number > 0 && named.Number < furthest {
			g.last = max(g.last, named.Number)
		}
		generation, err := bucket.ParseGeneration(named.Number, []byte(s.Text))
		if err != nil {
			return nil //nolint:nilerr // it is of another version of syncd
		}
		e := &Edition{Generation: generation, Text: []byte(s.Text), Sum: sha256.Sum256([]byte(s.Text))}
		r := g.ringLocked(name)
		r.newest, r.statement = e, s.Statement
		return nil
	})
}
