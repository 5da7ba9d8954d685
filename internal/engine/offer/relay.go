package offer

import (
	"bytes"
	"os"
	"slices"
	"sync"

	"syncd/internal/downstream/relay"
	"syncd/internal/downstream/trust"
	"syncd/internal/manifest"
	"syncd/internal/store"
)

// Relay has the texts of a signed upstream that this host passes on: those that it believes, if
// it has no key of its own. Safe for concurrent use.
type Relay struct {
	Folder  *relay.Folder
	Signing *Signing
	// Believes is true while the configuration in force asks for signatures of the source.
	Believes func() bool
	Belief   func() (store.Belief, error) // what was believed last
	Warn     func(error)

	mu     sync.Mutex // guards what follows
	chain  trust.Chain
	text   []byte          // of chain
	judged map[string]bool // whether the chain's newest keys signed a statement
}

// Texts returns the texts of the upstream, the newest first, and whether this host passes them
// on.
func (r *Relay) Texts() (all []relay.Text, passesOn bool) {
	if r.Signing.inForce.Load() != nil || !r.Believes() {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.recallLocked() {
		return nil, true
	}
	return slices.DeleteFunc(r.Folder.Texts(), func(t relay.Text) bool {
		isBelieved, known := r.judged[t.Current.Statement]
		if !known {
			_, _, err := r.chain.Newest().Believe([]byte(t.Current.Statement))
			isBelieved = err == nil
			r.judged[t.Current.Statement] = isBelieved
		}
		return !isBelieved
	}), true
}

// maxJudged bounds the statements that are remembered.
const maxJudged = 1000

// recallLocked takes up the versions of the trust text that this host believes by now.
func (r *Relay) recallLocked() bool {
	belief, err := r.Belief()
	if err != nil {
		r.Warn(err)
		return false
	}
	if bytes.Equal(r.text, []byte(belief.Chain)) && len(r.judged) < maxJudged {
		return len(r.chain) > 0
	}
	r.text, r.judged = []byte(belief.Chain), map[string]bool{}
	r.chain, err = trust.ParseChain(r.text)
	return err == nil && len(r.chain) > 0
}

// Record opens the text of a record.
func (r *Relay) Record(sum manifest.ObjectID) (*os.File, error) { return r.Folder.Record(sum) }

// Trust returns the versions of the trust text: this host's own, or those that it passes on.
func (r *Relay) Trust() (texts [][]byte) {
	if own := r.Signing.Trust(); own != nil || !r.Believes() {
		return own
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.recallLocked() {
		return nil
	}
	for _, text := range r.chain {
		texts = append(texts, text.Bytes())
	}
	return texts
}
