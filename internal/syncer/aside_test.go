package syncer_test

import (
	"os"
	"strings"
	"testing"

	"syncd/internal/manifest/refusal"
	"syncd/internal/report"
	"syncd/internal/report/request"
)

// A failure of this host's disk or gate is no failure of the source, also when a later poll
// repeats it: the next source would be asked for nothing, and this one shown as broken.
func TestARepeatedFailureOfThisHostBlamesNoSource(t *testing.T) {
	for name, fault := range map[string]func(*testing.T, *world){
		"gate": func(_ *testing.T, w *world) { w.gatedBy("data", "false") },
		"disk": func(t *testing.T, w *world) { // a file stands where the directory of objects is
			aside := w.objectPath([32]byte{})
			dir := aside[:strings.LastIndex(aside, "/objects/")] + "/objects"
			must(t, os.Rename(dir, dir+".aside"))
			must(t, os.WriteFile(dir, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := served(t)
			w.publish("data", "2026.10", october())
			fault(t, w)
			for _, poll := range []string{"the first one", "the second one", "the third one"} {
				asked := 0
				result := w.sync(request.Sync{Trigger: request.TriggerSchedule, SetAside: func(_ string, err error) bool {
					asked++
					if !refusal.IsLocal(err) {
						t.Errorf("%s: %v blames the source", poll, err)
					}
					return false
				}})
				if m := result.Manifests[0]; asked != 1 || m.Result == report.Updated || m.Result == report.Unchanged {
					t.Errorf("%s: asked %d times, %+v", poll, asked, m)
				}
			}
		})
	}
}
