package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// Someone who does not know the names of manifests yet asks for them.
func TestCommandsThatHelpToFindManifestsNeedNoneInTheConfiguration(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	text, err := os.ReadFile(h.path("syncd.yaml"))
	h.must(err)
	source, _, _ := strings.Cut(string(text), "manifests:")
	for _, rest := range []string{"", "manifests:\n", "manifests: []\n"} {
		h.write("syncd.yaml", source+rest, 0o644)
		h.contains("manifests", h.expect(0, "manifests").stdout, "dq_addr_data")
		h.contains("releases", h.expect(0, "releases", "dq_addr_data").stdout, "20")
		h.contains("files", h.expect(0, "files", "dq_addr_data").stdout, "Data/")
		for _, args := range [][]string{{"sync"}, {"run"}, {"config", "check"}} {
			r := h.expect(2, args...)
			h.contains(strings.Join(args, " "), r.stderr, "syncd.yaml", "manifests: is ", "run `syncd manifests` for the names")
		}
	}
}

// The unit loads the Customer ID as a credential. A shell of root has the same file.
func TestCommandsReadTheCustomerIDAsTheUnitLoadsIt(t *testing.T) {
	t.Parallel()
	h := asRoot(t)
	h.environ = []string{"SYSTEMD_UNIT_PATH=" + h.path("units")}
	h.binary = copyBinary(h)
	h.settings.id = "customer_id_param: id"
	h.configure()
	h.unit("LoadCredential=customer_id:" + h.path("customer_id"))
	h.contains("without the file", h.expect(2, "config", "check").stderr, "no Customer ID is configured; write it to "+h.path("customer_id")+" with mode 600")

	h.write("customer_id", customerID, 0o600)
	h.giveData(otherUID, otherGID, 0o755)
	h.expect(0, "config", "check")
	h.expect(0, "manifests")
	h.sync(0)
	h.ownedByOther()

	h.as = &syscall.Credential{Uid: otherUID, Gid: otherGID}
	r := h.expect(2, "config", "check")
	h.contains("as another user", r.stderr, "this user cannot read "+h.path("customer_id"), "run this as root", `SYNCD_CUSTOMER_ID="$(sudo cat `+h.path("customer_id")+`)"`)

	h.as = nil
	h.environ = append(h.environ, "SYNCD_CUSTOMER_ID=WRONG-ID-0002")
	h.contains("with an ID of the shell", h.expect(1, "manifests").stderr, "invalidLicense")
	h.environ = h.environ[:1]
	h.unit("LoadCredential=customer_id:"+h.path("customer_id"), "ExecStart=/usr/bin/syncd --config /other.yaml run")
	h.contains("with another unit", h.expect(2, "config", "check").stderr, "no Customer ID is configured; set just one of")
}

func TestMissingConfigurationSaysHowToGetOne(t *testing.T) {
	t.Parallel()
	h := asRoot(t)
	h.binary = copyBinary(h)
	h.must(os.Chmod(h.path("syncd.yaml"), 0o600))
	h.as = &syscall.Credential{Uid: otherUID, Gid: otherGID}
	h.contains("as another user", h.expect(2, "sync").stderr, "permission denied; run this as root")
	h.must(os.Remove(h.path("syncd.yaml")))
	h.contains("stderr", h.expect(2, "sync").stderr, "--config", "/usr/share/doc/syncd/examples/configs/syncd.yaml", "`syncd config from-updater`", "`syncd demo`")
}

func TestErrorsOfTheFirstHourNameThePlaceAndTheNextStep(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	address := strings.TrimPrefix(h.settings.url, "http://")
	const doctor = "Run 'syncd doctor' to find the cause."
	for _, row := range []struct{ url, says string }{
		{"https://" + address, address + " does not speak TLS there: check scheme and port"},
		{"http://" + freeAddress(h), "connection refused"},
		{"https://name.invalid", "name.invalid"},
		{"http://" + address + "/wrong", "status 404"},
	} {
		h.settings.url = row.url
		h.configure()
		h.contains("manifests", h.expect(1, "manifests").stderr, row.says, doctor)
		r := h.expect(1, "sync")
		h.contains("sync", r.stdout+r.stderr, row.says, "nothing is served yet: `syncd doctor` looks for the cause")
	}
	h.settings.url = "http://" + address
	h.configure()
	h.contains("get", h.expect(1, "get", "Data/latest/none.dat", "-o", h.path("got")).stderr, "none.dat", "`syncd files MANIFEST`")
	if text := h.expect(1, "files", "nosuch").stderr; strings.Contains(text, doctor) {
		t.Errorf("the error names its cause: %s", text)
	}
	h.listenOn(address)
	h.contains("run", h.expect(1, "run").stderr, "http.listen", "`ss -ltnp`")
}

func TestErrorsOfABucketSayWhatToDo(t *testing.T) {
	t.Parallel()
	f := newFollower(t, "m")
	f.contains("an empty bucket", f.expect(1, "manifests").stderr, "nothing is published there: run `syncd sync` on the publisher")
	f.place("bucket", "bucket: refdata", "wrong-bucket")
	f.contains("a wrong bucket", f.expect(1, "manifests").stderr, "NoSuchBucket", "correct the name of the bucket")
}
