package publisher

import (
	"os"
	"testing"

	"syncd/internal/report"
)

// A publisher that finds an empty place, and knows nothing of it, says that it began. One that
// knows it goes on, and a further publisher takes part.
func TestAnEmptyPlaceBeginsOnce(t *testing.T) {
	server := start(t)
	a, b := newHost(t), newHost(t)
	p := newPublisher(t, server.Endpoint, a, nil)
	a.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	mustPublish(t, p, Request{})
	first := look(t, server)
	if first.generation.Began == 0 || first.current.Began != first.generation.Began || first.generation.Epoch != 0 {
		t.Fatalf("%+v", first.generation)
	}
	if err := os.RemoveAll(server.Path("mirror")); err != nil {
		t.Fatal(err)
	}
	a.serve("addr", "2026.11", map[string]string{"a.txt": "two"})
	mustPublish(t, p, Request{})
	if on := look(t, server); on.generation.Began != first.generation.Began || on.generation.Number != 2 {
		t.Errorf("%+v", on.generation)
	}
	if err := os.RemoveAll(server.Path("mirror")); err != nil {
		t.Fatal(err)
	}
	q := newPublisher(t, server.Endpoint, b, func(c *Config) { c.Past = Past{} })
	b.serve("addr", "2026.12", map[string]string{"a.txt": "three"})
	mustPublish(t, q, Request{})
	now := look(t, server)
	if now.generation.Began < first.generation.Began || now.generation.Number != 1 {
		t.Errorf("%+v", now.generation)
	}
	a.serve("addr", "2027.01", map[string]string{"a.txt": "four"})
	if done := mustPublish(t, p, Request{}); done.Result != report.Uploaded || done.Superseded {
		t.Errorf("a publisher that knew the place before does not go on: %+v", done)
	}
}
