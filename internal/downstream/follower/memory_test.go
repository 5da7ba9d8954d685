package follower_test

import (
	"errors"
	"testing"
	"time"

	"syncd/internal/store"
)

// notes keep what a client read last.
type notes struct {
	of  store.Upstream
	err error
}

func (n *notes) Upstream() (store.Upstream, error) { return n.of, n.err }

func (n *notes) SetUpstream(u store.Upstream) error {
	n.of = u
	return n.err
}

func TestANewProcessAsksForNewsOnly(t *testing.T) {
	w := start(t)
	kept := &notes{}
	next := func(source string) {
		w.client = w.connect(time.Minute)
		w.client.Remember(kept, source)
		w.asked()
	}
	wants := func(what, want string) {
		t.Helper()
		if asked := w.asked(); asked != want {
			t.Errorf("%s: asked for %q, want %q", what, asked, want)
		}
	}
	next("here")
	w.server.Publish(prefix, 1, data("2026.09", map[string]string{"a": "1"}))
	w.generation(1)
	wants("the first process", "current.json generations/1.json")
	next("here")
	if !w.client.IsKnown() {
		t.Error("the mirror counts as never read")
	}
	w.generation(1)
	w.generation(1)
	wants("the next one", "current.json current.json")

	next("elsewhere")
	w.generation(1)
	wants("another source", "current.json generations/1.json")
	next("elsewhere")
	w.server.Publish(prefix, 2, data("2026.10", map[string]string{"a": "2"}))
	w.generation(2)
	wants("news", "current.json generations/2.json")

	good := kept.of
	for what, spoil := range map[string]func(){
		"a text of another sum": func() { kept.of.Generation = []byte("{}") },
		"no current.json":       func() { kept.of.Current = nil },
		"nothing readable":      func() { kept.err = errors.New("no disk") },
	} {
		kept.of, kept.err = good, nil
		spoil()
		next("elsewhere")
		if w.client.IsKnown() {
			t.Errorf("%s counts as read", what)
		}
		w.generation(2)
		wants(what, "current.json generations/2.json")
	}
}
