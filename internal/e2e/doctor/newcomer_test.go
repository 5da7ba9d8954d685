package doctor_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/e2e"
)

// Someone who does not know the names of manifests yet asks for them.
func TestCommandsThatHelpToFindManifestsNeedNoneInTheConfiguration(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	text := h.Read("syncd.yaml")
	source, _, _ := strings.Cut(string(text), "manifests:")
	for _, rest := range []string{"", "manifests:\n", "manifests: []\n"} {
		h.Write("syncd.yaml", source+rest, 0o644)
		h.Contains("manifests", h.Expect(0, "manifests").Stdout, "dq_addr_data")
		h.Contains("releases", h.Expect(0, "releases", "dq_addr_data").Stdout, "20")
		h.Contains("files", h.Expect(0, "files", "dq_addr_data").Stdout, "Data/")
		for _, args := range [][]string{{"sync"}, {"run"}, {"config", "check"}} {
			r := h.Expect(2, args...)
			h.Contains(strings.Join(args, " "), r.Stderr, "syncd.yaml", "manifests: is ", "run `syncd manifests` for the names")
		}
	}
}

// The unit loads the Customer ID as a credential. A shell of root has the same file.
func TestCommandsReadTheCustomerIDAsTheUnitLoadsIt(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.Environ = []string{"SYSTEMD_UNIT_PATH=" + h.Path("units")}
	h.Binary = e2e.CopyBinary(h)
	h.Settings.ID = "customer_id_param: id"
	h.Configure()
	unit(h, "LoadCredential=customer_id:"+h.Path("customer_id"))
	h.Contains("without the file", h.Expect(2, "config", "check").Stderr, "no Customer ID is configured; write it to "+h.Path("customer_id")+" with mode 600")

	h.Write("customer_id", e2e.CustomerID, 0o600)
	giveData(h, e2e.OtherUID, e2e.OtherGID, 0o755)
	h.Expect(0, "config", "check")
	h.Expect(0, "manifests")
	h.Sync(0)
	h.OwnedByOther()

	h.As = &syscall.Credential{Uid: e2e.OtherUID, Gid: e2e.OtherGID}
	r := h.Expect(2, "config", "check")
	h.Contains("as another user", r.Stderr, "this user cannot read "+h.Path("customer_id"), "run this as root", `SYNCD_CUSTOMER_ID="$(sudo cat `+h.Path("customer_id")+`)"`)

	h.As = nil
	h.Environ = append(h.Environ, "SYNCD_CUSTOMER_ID=WRONG-ID-0002")
	h.Contains("with an ID of the shell", h.Expect(1, "manifests").Stderr, "invalidLicense")
	h.Environ = h.Environ[:1]
	unit(h, "LoadCredential=customer_id:"+h.Path("customer_id"), "ExecStart=/usr/bin/syncd --config /other.yaml run")
	h.Contains("with another unit", h.Expect(2, "config", "check").Stderr, "no Customer ID is configured; set just one of")
}

func TestMissingConfigurationSaysHowToGetOne(t *testing.T) {
	t.Parallel()
	h := e2e.AsRoot(t)
	h.Binary = e2e.CopyBinary(h)
	h.Must(os.Chmod(h.Path("syncd.yaml"), 0o600))
	h.As = &syscall.Credential{Uid: e2e.OtherUID, Gid: e2e.OtherGID}
	h.Contains("as another user", h.Expect(2, "sync").Stderr, "permission denied; run this as root")
	h.Must(os.Remove(h.Path("syncd.yaml")))
	h.Contains("stderr", h.Expect(2, "sync").Stderr, "--config", "/usr/share/doc/syncd/examples/configs/syncd.yaml", "`syncd config from-updater`", "`syncd demo`")
}

func TestErrorsOfTheFirstHourNameThePlaceAndTheNextStep(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	address := strings.TrimPrefix(h.Settings.URL, "http://")
	const doctor = "Run 'syncd doctor' to find the cause."
	for _, row := range []struct{ url, says string }{
		{"https://" + address, address + " does not speak TLS there: check scheme and port"},
		{"http://" + e2e.FreeAddress(h), "connection refused"},
		{"https://name.invalid", "name.invalid"},
		{"http://" + address + "/wrong", "status 404"},
	} {
		h.Settings.URL = row.url
		h.Configure()
		h.Contains("manifests", h.Expect(1, "manifests").Stderr, row.says, doctor)
		r := h.Expect(1, "sync")
		h.Contains("sync", r.Stdout+r.Stderr, row.says, "nothing is served yet: `syncd doctor` looks for the cause")
	}
	h.Settings.URL = "http://" + address
	h.Configure()
	h.Contains("get", h.Expect(1, "get", "Data/latest/none.dat", "-o", h.Path("got")).Stderr, "none.dat", "`syncd files MANIFEST`")
	if text := h.Expect(1, "files", "nosuch").Stderr; strings.Contains(text, doctor) {
		t.Errorf("the error names its cause: %s", text)
	}
	listenOn(h, address)
	h.Contains("run", h.Expect(1, "run").Stderr, "http.listen", "`ss -ltnp`")
}

func TestErrorsOfABucketSayWhatToDo(t *testing.T) {
	t.Parallel()
	f := e2e.NewFollower(t, "m")
	f.Contains("an empty bucket", f.Expect(1, "manifests").Stderr, "nothing is published there: run `syncd sync` on the publisher")
	place(f, "bucket", "bucket: refdata", "wrong-bucket")
	f.Contains("a wrong bucket", f.Expect(1, "manifests").Stderr, "NoSuchBucket", "correct the name of the bucket")
}
