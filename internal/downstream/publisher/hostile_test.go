package publisher

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"syncd/internal/downstream/bucket"
)

// A list without an end must hold up no sync for ever and fill no memory.
func TestListsWithoutAnEndAreRefused(t *testing.T) {
	useCredentials(t)
	pages := 0
	for name, page := range map[string]func(http.ResponseWriter){
		"of one page": func(w http.ResponseWriter) {
			fmt.Fprint(w, "<ListBucketResult>", strings.Repeat("<Name>x</Name>", maxPage/8), "</ListBucketResult>")
		},
		"of empty pages": func(w http.ResponseWriter) {
			pages++
			fmt.Fprintf(w, "<ListBucketResult><IsTruncated>%t</IsTruncated><NextContinuationToken>%d</NextContinuationToken></ListBucketResult>", pages <= maxPages, pages)
		},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { page(w) }))
		defer server.Close()
		p := newPublisher(t, server.URL, newHost(t), nil)
		if err := p.store.list(t.Context(), bucket.Objects, func(listed) {}); err == nil {
			t.Errorf("a list %s: no error", name)
		}
	}
}

// Somebody's text with a very high number must not lead to one that followers refuse.
func TestAPlantedGenerationDoesNotEndTheCounting(t *testing.T) {
	server := start(t)
	h := newHost(t)
	h.serve("addr", "2026.10", map[string]string{"a.txt": "one"})
	p := newPublisher(t, server.Endpoint, h, nil)
	if _, err := p.store.put(t.Context(), bucket.GenerationName(1<<40), []byte("{}"), anything); err != nil {
		t.Fatal(err)
	}
	if done := mustPublish(t, p, Request{}); done.Generation != 1 {
		t.Errorf("generation %d", done.Generation)
	}
	look(t, server)
}
