package publisher

import (
	"os"
	"testing"

	"syncd/internal/downstream/publisher/identity"
)

func TestAPublisherKeepsItsNameAndNoOtherHostHasIt(t *testing.T) {
	a, b := newHost(t), newHost(t)
	name := func(h *host) string {
		i, err := identity.New(h, h.dir)
		if err != nil {
			t.Fatal(err)
		}
		return i.Name()
	}
	first := name(a)
	if again := name(a); again != first {
		t.Errorf("%s after a restart, %s before", again, first)
	}
	if other := name(b); other == first {
		t.Error("two hosts have the name", other)
	}
	b.known = a.known // a copy of the data directory
	if copied := name(b); copied == first {
		t.Error("the copy has the name", copied)
	}
	moved := a.dir + "-moved"
	if err := os.Rename(a.dir, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(a.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if restored := name(a); restored == first {
		t.Error("the restored copy has the name", restored)
	}
}

// The copy of a whole machine has the same state, folder and machine id: it knows by the
// generations that it did not write them.
func TestACopyOfAMachineIsNoAuthorOfWhatTheOtherPublished(t *testing.T) {
	server := start(t)
	a := newHost(t)
	a.serve("addr", "2026.10", map[string]string{"a": "old"})
	p := newPublisher(t, server.Endpoint, a, nil)
	mustPublish(t, p, Request{})
	b := &host{t: t, dir: a.dir, current: a.current, known: a.known}
	a.serve("addr", "2026.11", map[string]string{"a": "new"})
	mustPublish(t, p, Request{})
	name := look(t, server).generation.Publisher

	b.serve("phone", "2026.11", map[string]string{"p": "p"})
	q := newPublisher(t, server.Endpoint, b, nil)
	if done := mustPublish(t, q, Request{}); len(done.Kept) != 1 {
		t.Errorf("%+v", done)
	}
	c := look(t, server)
	if c.files["addr/a"] != "new" || c.generation.Publisher == name {
		t.Errorf("%s published %v", c.generation.Publisher, c.files)
	}
	if again := q.identity.Name(); again != c.generation.Publisher {
		t.Errorf("%s, and %s later", c.generation.Publisher, again)
	}
}
