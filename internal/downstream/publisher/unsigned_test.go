package publisher

import (
	"testing"
	"time"

	"syncd/internal/downstream/bucket"
)

// The texts around a generation are not signed: a writer of the bucket without a key can put a
// generation that this host once wrote below other numbers. The host must not sign them.
func TestAPublisherSignsNoNumbersOfOthers(t *testing.T) {
	for name, lie := range map[string]func(current, own bucket.Current) bucket.Current{
		"a later epoch":           func(_, own bucket.Current) bucket.Current { own.Epoch, own.Statement = 7, ""; return own },
		"the last epoch":          func(_, own bucket.Current) bucket.Current { own.Epoch, own.Statement = bucket.MaxEpoch, ""; return own },
		"a later beginning":       func(_, own bucket.Current) bucket.Current { own.Began, own.Statement = 1<<40, ""; return own },
		"all, with its signature": func(_, own bucket.Current) bucket.Current { own.Began, own.Epoch = 1<<40, 7; return own },
		"the last number":         func(_, own bucket.Current) bucket.Current { own.Generation, own.Statement = 1<<30-1, ""; return own },
		"the last number as next": func(now, own bucket.Current) bucket.Current {
			now.Next = bucket.Next{Generation: 1<<30 - 1, SHA256: own.SHA256}
			return now
		},
		"the last number of others": func(_, own bucket.Current) bucket.Current {
			own.Generation, own.SHA256[0] = 1<<30-1, own.SHA256[0]+1
			return own
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, k := start(t), newKeys(t, 1, "a", "b")
			behind, ahead := newHost(t), newHost(t)
			p := newPublisher(t, server.Endpoint, behind, k.signsWith(t, 0, time.Hour))
			q := newPublisher(t, server.Endpoint, ahead, k.signsWith(t, 1, time.Hour))
			behind.serve("addr", "2026.08", map[string]string{"a": "8"})
			mustPublish(t, p, Request{})
			own := look(t, server)
			ahead.serve("addr", "2026.10", map[string]string{"a": "10"})
			mustPublish(t, q, Request{})

			server.Put("mirror/"+bucket.CurrentName, lie(look(t, server).current, own.current).Text())
			behind.serve("addr", "2026.09", map[string]string{"a": "9"})
			mustPublish(t, p, Request{})
			now := look(t, server).generation
			if now.Epoch != 0 || now.Began != own.generation.Began || now.Number > 3 {
				t.Errorf("it signed generation %d of epoch %d, of a bucket that began at %d", now.Number, now.Epoch, now.Began)
			}
			if past := p.past.Load(); past.Epoch != 0 || past.Began != own.generation.Began {
				t.Errorf("it remembers %+v", past)
			}
		})
	}
}

// A statement that stands beside another generation than its own is not what followers see: it
// must not stay while signatures are collected.
func TestAStatementOfAnotherGenerationDoesNotStay(t *testing.T) {
	server, k := start(t), newKeys(t, 2, "a", "b", "spare")
	a, b := newHost(t), newHost(t)
	p := newPublisher(t, server.Endpoint, a, k.signsWith(t, 0, time.Hour))
	q := newPublisher(t, server.Endpoint, b, k.signsWith(t, 1, time.Hour))
	for _, h := range []*host{a, b} {
		h.serve("addr", "2026.10", map[string]string{"a": "1"})
	}
	mustPublish(t, p, Request{})
	mustPublish(t, q, Request{})
	k.wantBelieved(t, server, 1, "a b")
	c := look(t, server).current
	c.Generation = 1<<30 - 1
	server.Put("mirror/"+bucket.CurrentName, c.Text())
	for _, h := range []*host{a, b} {
		h.serve("addr", "2026.11", map[string]string{"a": "2"})
	}
	mustPublish(t, p, Request{})
	mustPublish(t, q, Request{})
	k.wantBelieved(t, server, 2, "a b")
}
