package doctor_test

import (
	"os"
	"testing"

	"syncd/internal/e2e"
)

// Doctor, status and sync say the same about the folder above an export.
func TestDoctorAndStatusJudgeAnExportAsTheSyncDoes(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.Environ = []string{"SYSTEMD_UNIT_PATH=" + h.Path("units")}
	exportTo(h, "missing/folder/refdata")
	doctor(h, 0)
	h.Sync(0)

	h.Must(os.Mkdir(h.Path("open"), 0o755))
	h.Must(os.Chmod(h.Path("open"), 0o777))
	exportTo(h, "open/refdata")
	h.Contains("explain", h.Expect(0, "explain").Stdout, "export of view refdata: ", "every user can write", "chmod o-w")
	h.Sync(1)
	h.Must(os.Chmod(h.Path("open"), 0o755))
	h.Contains("explain", h.Expect(0, "explain").Stdout, "nothing is exported yet: `syncd sync` exports the view")
	h.Sync(0)
}
