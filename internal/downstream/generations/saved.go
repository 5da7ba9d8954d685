package generations

import (
	"crypto/sha256"
	"encoding/json"

	"syncd/internal/downstream/bucket"
)

// saved is what the state has of a ring.
type saved struct {
	Text      string `json:"text"`
	Statement string `json:"statement,omitempty"`
}

// load takes up what was saved. A generation that cannot be read is composed again.
func (g *Generations) load() error {
	return g.cfg.Store.Generations(func(name string, value json.RawMessage) error {
		var s saved
		var named struct {
			Number int `json:"generation"`
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
		g.rings[name] = &ring{name: name, newest: e, statement: s.Statement}
		return nil
	})
}
