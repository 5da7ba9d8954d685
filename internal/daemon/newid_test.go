package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"syncd/internal/config"
	"syncd/internal/engine/operation"
	"syncd/internal/report/request"
)

// An operator who replaces the file after a refusal need not know the signal, nor wait for
// the schedule.
func TestAManifestThatWasRefusedWaitsForAChangedCustomerID(t *testing.T) {
	w := start(t, "one", "two")
	dir := t.TempDir()
	file, path := filepath.Join(dir, "customer_id"), filepath.Join(dir, "syncd.yaml")
	must(t, os.WriteFile(file, []byte("an-old-customer-id\n"), 0o600))
	must(t, os.WriteFile(path, []byte("data_dir: /x\nsource: {url: \"http://127.0.0.1:1\", customer_id_file: customer_id}\nmanifests: [{name: one}]\n"), 0o600))
	cfg, err := config.Load(path, config.Environment{Getenv: func(string) string { return "" }})
	must(t, err)
	w.cfg.Source.Credential = cfg.Source.Credential
	d := w.newDaemon()
	if _, err := operation.Sync.Do(t.Context(), d.operations, request.Sync{}); err != nil {
		t.Fatal(err)
	}
	q := newQueue(nil)
	if d.renewID(q); len(q.waiting) != 0 {
		t.Errorf("without another ID, %v wait", q.waiting)
	}
	must(t, os.WriteFile(file, []byte("customer-id\n"), 0o600))
	d.renewID(q)
	req, _ := q.next(func(string) bool { return true })
	if !slices.Equal(req.Manifests, []string{"one", "two"}) || req.Trigger != request.TriggerReload {
		t.Fatalf("%+v", req)
	}
	if result, err := operation.Sync.Do(t.Context(), d.operations, req); err != nil || !result.OK() || w.content("one") != "one" {
		t.Errorf("%+v, %v", result, err)
	}
}
