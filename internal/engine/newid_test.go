package engine

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"syncd/internal/config"
	"syncd/internal/engine/operation"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// idFile makes the world's Customer ID that of a file, which it returns. The credential is
// as commands leave it: known.
func (w *world) idFile(id string) string {
	w.Helper()
	dir := w.TempDir()
	file, path := filepath.Join(dir, "customer_id"), filepath.Join(dir, "syncd.yaml")
	must(w.T, os.WriteFile(file, []byte(id+"\n"), 0o600))
	must(w.T, os.WriteFile(path, []byte("data_dir: /x\nsource: {url: \"http://127.0.0.1:1\", customer_id_file: customer_id}\nmanifests: [{name: one}]\n"), 0o600))
	cfg, err := config.Load(path, config.Environment{Getenv: func(string) string { return "" }})
	must(w.T, err)
	read, err := cfg.Source.ReadID()
	must(w.T, err)
	w.cfg.Source.Credential = cfg.Source.Credential.Known(read)
	return file
}

func TestARefusedCustomerIDIsReadAgainAtOnce(t *testing.T) {
	w := start(t, "one", "two")
	file := w.idFile("an-old-customer-id")
	e := w.open()
	defer e.Close()
	var secrets []string
	e.options.AddSecret = func(id string) { secrets = append(secrets, id) }
	sync := func() report.Sync {
		t.Helper()
		result, err := operation.Sync.Do(context.Background(), e.Operations(), request.Sync{Demand: true})
		must(t, err)
		return result
	}
	before := len(w.provider.Requests())
	if result := sync(); result.OK() || !strings.Contains(result.Manifests[0].Error, "401") {
		t.Fatalf("with the old ID: %+v", result)
	}
	asked := len(w.provider.Requests()) - before
	if e.RenewID() {
		t.Error("the same ID counted as another one")
	}
	must(t, os.Remove(file))
	if e.RenewID() {
		t.Error("a missing file counted as another ID")
	}
	must(t, os.WriteFile(file, []byte("customer-id\n"), 0o600))
	before = len(w.provider.Requests())
	if result := sync(); !result.OK() || len(result.Manifests) != 2 || w.content("one") != "one" || w.content("two") != "two" {
		t.Errorf("with another ID in the file: %+v, %d requests", result, len(w.provider.Requests())-before)
	}
	if asked > 2 || len(secrets) == 0 || secrets[0] != "customer-id" {
		t.Errorf("%d requests with the old ID; secrets %q", asked, secrets)
	}
	if e.RenewID() {
		t.Error("an ID that the provider accepts was read again")
	}
	if w.logged("another one is there now") != 1 {
		t.Error(w.log.String())
	}
}

// The first source is down, and the second one refuses the ID: that of its own file is read again.
func TestARefusedCustomerIDOfALaterSourceIsReadAgain(t *testing.T) {
	w := start(t, "one", "two")
	file := w.idFile("an-old-customer-id")
	w.cfg.Others = []config.Source{w.cfg.Source}
	w.cfg.Source.Name, w.cfg.Others[0].Name = "near", "far"
	w.cfg.Source.URL, w.cfg.Source.Retry.MaxElapsed = &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, 10*time.Millisecond
	w.cfg.Source.Credential = config.FixedCredential("of-near")
	e := w.open()
	defer e.Close()
	sync := func() report.Sync {
		t.Helper()
		result, err := operation.Sync.Do(t.Context(), e.Operations(), request.Sync{Demand: true})
		must(t, err)
		return result
	}
	if result := sync(); result.OK() || !strings.Contains(result.Manifests[0].Error, "401") || e.RenewID() {
		t.Fatalf("with the old ID: %+v", result)
	}
	must(t, os.WriteFile(file, []byte("customer-id\n"), 0o600))
	if result := sync(); !result.OK() || w.content("one") != "one" || w.content("two") != "two" {
		t.Errorf("with another ID in the file: %+v", result)
	}
	if w.cfg.Others[0].Credential.File() == "" || w.logged("another one is there now") != 1 {
		t.Error(w.log.String())
	}
}
