package engine

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/config"
	"syncd/internal/engine/operation"
	"syncd/internal/hooks/event"
	"syncd/internal/report/request"
)

// The Customer ID can belong to a later source, such as a provider behind a host of one's own.
func TestNothingShowsTheCustomerIDOfALaterSource(t *testing.T) {
	t.Setenv("LINK_TO_THE_PROVIDER", "https://releases.example.net/?id=customer-id")
	w := start(t, "one")
	script := filepath.Join(t.TempDir(), "gate")
	must(t, os.WriteFile(script, []byte("#!/bin/sh\necho \"with customer-id, $LINK_TO_THE_PROVIDER\" >&2\nexit 1\n"), 0o700))
	w.cfg.Manifests[0].Gate = config.Gate{Command: []string{script}, Timeout: time.Minute}
	w.cfg.Hooks = []config.Hook{{Name: "hook", On: []event.Kind{event.Refused}, Command: []string{script}, Timeout: time.Minute}}
	provider := w.cfg.Source
	provider.Name = "provider"
	w.cfg.Source.Name, w.cfg.Source.URL = "hub", &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	w.cfg.Source.Retry.MaxElapsed = time.Millisecond
	w.cfg.Source.Credential = config.FixedCredential("an-id-of-the-hub")
	w.cfg.Others = []config.Source{provider}
	e := w.open()
	defer e.Close()
	result, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Demand: true})
	must(t, err)
	status, err := operation.Status.Ask(context.Background(), e.Operations())
	must(t, err)
	for what, shown := range map[string]any{"the sync": result, "the status": status} {
		text, err := json.Marshal(shown)
		must(t, err)
		if !strings.Contains(string(text), "with REDACTED,") || strings.Contains(string(text), "customer-id") {
			t.Errorf("%s shows %s", what, text)
		}
	}
}
