package commands_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// newSetup is a host without a configuration and without a unit.
func newSetup(t *testing.T) *e2e.Host {
	h := e2e.NewHost(t)
	h.Environ = []string{"SYSTEMD_UNIT_PATH=" + h.Path("units")}
	h.Must(os.Remove(h.Path("syncd.yaml")))
	return h
}

// answered runs setup with lines on standard input.
func answered(h *e2e.Host, code int, lines ...string) e2e.Result {
	h.Helper()
	cmd := h.Command("setup")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the exit code tells
	r := e2e.Result{Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
	h.SecretFree("stdout", r.Stdout)
	h.SecretFree("stderr", r.Stderr)
	if r.Code != code {
		h.Fatalf("exit %d, want %d\nstdout: %s\nstderr: %s", r.Code, code, r.Stdout, r.Stderr)
	}
	return r
}

// nothingLeft requires that a setup has left no file.
func nothingLeft(h *e2e.Host) {
	h.Helper()
	entries, err := os.ReadDir(h.Dir)
	h.Must(err)
	for _, entry := range entries {
		if entry.Name() != "id" {
			h.Errorf("left %s", entry.Name())
		}
	}
}

// isWritten requires the configuration of a setup, and the stored Customer ID.
func isWritten(h *e2e.Host, manifests string) {
	h.Helper()
	e2e.Same(h, "configuration", `source: {url: "`+h.Provider.URL()+`", customer_id_file: customer_id}`+"\nmanifests:\n"+manifests, string(h.Read("syncd.yaml")))
	e2e.Same(h, "Customer ID", e2e.CustomerID+"\n", string(h.Read("customer_id")))
	for name, mode := range map[string]fs.FileMode{"syncd.yaml": 0o644, "customer_id": 0o600} {
		info, err := os.Stat(h.Path(name))
		h.Must(err)
		e2e.Same(h, "mode of "+name, mode, info.Mode())
	}
}

func TestSetupReadsItsAnswersFromLines(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ choice, manifests string }{
		"by name":          {"dq_phone_data\n", "  - name: dq_phone_data\n"},
		"by number":        {"2\n", "  - name: dq_addr_data\n"},
		"several":          {"dq_addr_data, 3\n", "  - name: dq_addr_data\n  - name: dq_phone_data\n"},
		"an empty line":    {"\n", "  - name: dq_addr_bins\n"},
		"without line end": {"3", "  - name: dq_phone_data\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newSetup(t)
			h.Umask = "077"
			r := answered(h, 0, h.Provider.URL(), e2e.CustomerID, row.choice)
			h.Contains("stdout", r.Stdout, "1  dq_addr_bins", "3  dq_phone_data", "ok       service: ", "ok       licence: ", "wrote "+h.Path("syncd.yaml"), "wrote "+h.Path("customer_id"), "next: syncd --config")
			isWritten(h, row.manifests)
			h.Expect(0, "config", "check")
			h.Expect(0, "manifests")
		})
	}
}

func TestTheEndOfTheInputTakesTheDefaultsOfSetup(t *testing.T) {
	t.Parallel()
	h := newSetup(t)
	h.Contains("no address", answered(h, 2).Stderr, "no address of the release service: the input has ended")
	h.Contains("no ID", answered(h, 2, h.Provider.URL()).Stderr, "no Customer ID: the input has ended")
	nothingLeft(h)
	answered(h, 0, h.Provider.URL(), e2e.CustomerID)
	isWritten(h, "  - name: dq_addr_bins\n")

	updater := newSetup(t)
	updater.Environ = append(updater.Environ, "MD_LICENSE="+e2e.CustomerID)
	answered(updater, 0, updater.Provider.URL())
	isWritten(updater, "  - name: dq_addr_bins\n")
}

// A Customer ID of the environment stays there: a second one in a file would be an error.
func TestSetupDoesNotStoreACustomerIDOfTheEnvironment(t *testing.T) {
	t.Parallel()
	h := newSetup(t)
	h.Environ = append(h.Environ, "SYNCD_CUSTOMER_ID="+e2e.CustomerID)
	h.Contains("another one", answered(h, 2, h.Provider.URL(), "ANOTHER-0002").Stderr, "the environment sets another Customer ID", "unset SYNCD_CUSTOMER_ID")
	nothingLeft(h)
	answered(h, 0, h.Provider.URL(), "", "dq_addr_data")
	e2e.Same(h, "configuration", `source: {url: "`+h.Provider.URL()+"\"}\nmanifests:\n  - name: dq_addr_data\n", string(h.Read("syncd.yaml")))
	h.Expect(0, "manifests")
}

// The unit loads the Customer ID from its own file: the configuration does not name it.
func TestSetupStoresTheCustomerIDWhereTheUnitLoadsIt(t *testing.T) {
	t.Parallel()
	h := newSetup(t)
	h.Must(os.MkdirAll(h.Path("units"), 0o755))
	h.Must(os.MkdirAll(h.Path("secret"), 0o755))
	h.Write("units/syncd.service", "[Service]\nExecStart=/usr/bin/syncd --config "+h.Path("syncd.yaml")+" run\nLoadCredential=customer_id:"+h.Path("secret/id")+"\n", 0o644)
	r := answered(h, 0, h.Provider.URL(), e2e.CustomerID, "dq_addr_data")
	h.Contains("stdout", r.Stdout, "wrote "+h.Path("secret/id"), "next: systemctl enable --now syncd")
	e2e.Same(h, "Customer ID", e2e.CustomerID+"\n", string(h.Read("secret/id")))
	e2e.Same(h, "configuration", `source: {url: "`+h.Provider.URL()+"\"}\nmanifests:\n  - name: dq_addr_data\n", string(h.Read("syncd.yaml")))
	h.Must(os.Remove(h.Path("syncd.yaml")))
	answered(h, 0, h.Provider.URL(), "", "dq_addr_data") // the stored one is the default, and stays
}

func TestSetupChangesNoFileThatExists(t *testing.T) {
	t.Parallel()
	h := newSetup(t)
	h.Write("syncd.yaml", "mine", 0o600)
	h.Contains("a configuration", answered(h, 2, h.Provider.URL(), e2e.CustomerID).Stderr, h.Path("syncd.yaml")+" exists")
	e2e.Same(h, "configuration", "mine", string(h.Read("syncd.yaml")))
	if n := len(h.Provider.Requests()); n != 0 {
		t.Errorf("%d requests before the refusal", n)
	}
	h.Must(os.Remove(h.Path("syncd.yaml")))
	h.Must(os.Symlink("nowhere", h.Path("syncd.yaml")))
	h.Contains("a link", answered(h, 2).Stderr, h.Path("syncd.yaml")+" exists")
	h.Must(os.Remove(h.Path("syncd.yaml")))

	h.Write("customer_id", "ANOTHER-0002\n", 0o600)
	h.Contains("a Customer ID", answered(h, 2, h.Provider.URL(), e2e.CustomerID, "1").Stderr, h.Path("customer_id")+" holds another Customer ID")
	e2e.Same(h, "Customer ID", "ANOTHER-0002\n", string(h.Read("customer_id")))
	h.Must(os.Remove(h.Path("customer_id")))
	nothingLeft(h)
}

func TestSetupNamesTheCauseAndLeavesNothing(t *testing.T) {
	t.Parallel()
	h := newSetup(t)
	url := h.Provider.URL()
	page := e2e.NewHost(t).Provider
	page.AddFault(emulator.Fault{Kind: emulator.KindShape, Shape: "html"})
	for name, row := range map[string]struct {
		code  int
		lines []string
		says  []string
	}{
		"a dead address":       {1, []string{"http://" + e2e.FreeAddress(h), e2e.CustomerID}, []string{"connection refused", "check host and port of the address"}},
		"no TLS there":         {1, []string{strings.Replace(url, "http:", "https:", 1), e2e.CustomerID}, []string{"does not speak TLS", "check host and port"}},
		"an unknown host":      {1, []string{"https://name.invalid", e2e.CustomerID}, []string{"name.invalid"}},
		"a wrong path":         {1, []string{url + "/login", e2e.CustomerID}, []string{"status 404", "check the address with its path"}},
		"a login page":         {1, []string{page.URL(), e2e.CustomerID}, []string{"a proxy's HTML page", "without a login page or proxy in front"}},
		"no URL":               {2, []string{"releases.example.net"}, []string{"not an http or https URL", "https://releases.example.net"}},
		"plain http":           {2, []string{"http://releases.example.net"}, []string{"plain http", "use https"}},
		"a wrong ID":           {1, []string{url, "WRONG-ID-0002"}, []string{"the provider refuses this Customer ID", "invalidLicense", "compare it"}},
		"a short ID":           {2, []string{url, "abc"}, []string{"has fewer than 4 characters"}},
		"an unknown manifest":  {2, []string{url, e2e.CustomerID, "nosuch"}, []string{`"nosuch" is neither a number nor a name`, "1 to 3"}},
		"a number above":       {2, []string{url, e2e.CustomerID, "4"}, []string{"1 to 3"}},
		"a number of overflow": {2, []string{url, e2e.CustomerID, "99999999999999999999"}, []string{"1 to 3"}},
		"an endless line":      {2, []string{strings.Repeat("x", 1<<20)}, []string{"an answer is longer than"}},
	} {
		r := answered(h, row.code, row.lines...)
		h.Contains(name, r.Stderr, row.says...)
		if strings.Contains(r.Stdout+r.Stderr, "WRONG-ID-0002") {
			t.Errorf("%s: shows the ID:\n%s%s", name, r.Stdout, r.Stderr)
		}
		nothingLeft(h)
	}
}

func TestSetupAsksAgainOnATerminalAndHidesTheCustomerID(t *testing.T) {
	t.Parallel()
	h := newSetup(t)
	term := e2e.StartOnTerminal(h, "setup")
	term.Shows("Address of the release service")
	term.Types("http://" + e2e.FreeAddress(h) + "\n")
	term.Shows("connection refused")
	// The Customer ID is typed before it is asked for.
	term.Types(h.Provider.URL() + "\nWRONG-ID-0002\n" + e2e.CustomerID + "\n")
	term.Shows("the provider refuses this Customer ID")
	term.Shows("Manifests, by number or name [1]: ")
	term.Types("nosuch\n")
	term.Shows("is neither a number nor a name")
	term.Types("dq_addr_data\n")
	screen, code := term.Wait()
	e2e.Same(h, "exit code", 0, code)
	if strings.Contains(screen, "WRONG-ID-0002") || !strings.Contains(screen, h.Provider.URL()) {
		t.Errorf("the terminal shows the ID, or not the address:\n%s", screen)
	}
	isWritten(h, "  - name: dq_addr_data\n")
}

func TestAnInterruptedSetupLeavesNothing(t *testing.T) {
	t.Parallel()
	t.Run("at a question", func(t *testing.T) {
		t.Parallel()
		h := newSetup(t)
		term := e2e.StartOnTerminal(h, "setup")
		term.Shows("Address of the release service")
		term.Types(h.Provider.URL() + "\n")
		term.Shows("Customer ID")
		term.Types("half-of-an-ID\x03")
		screen, code := term.Wait()
		e2e.Same(h, "exit code", 1, code)
		h.Contains("screen", screen, "syncd: interrupted")
		if strings.Contains(screen, "half-of-an-ID") {
			t.Errorf("shows the ID:\n%s", screen)
		}
		nothingLeft(h)
	})
	t.Run("without an answer", func(t *testing.T) {
		t.Parallel()
		h := newSetup(t)
		cmd := h.Command("setup")
		answers, err := cmd.StdinPipe()
		h.Must(err)
		var stderr e2e.Buffer
		cmd.Stderr = &stderr
		h.Must(cmd.Start())
		_, err = answers.Write([]byte(h.Provider.URL() + "\n"))
		h.Must(err)
		h.Eventually("the question", func() bool { return len(h.Provider.Requests()) > 0 })
		h.Must(cmd.Process.Signal(syscall.SIGINT))
		_ = cmd.Wait() // the exit code tells
		e2e.Same(h, "exit code", 1, cmd.ProcessState.ExitCode())
		h.Contains("stderr", stderr.String(), "interrupted")
		nothingLeft(h)
	})
	t.Run("during the checks", func(t *testing.T) {
		t.Parallel()
		h := newSetup(t)
		h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStall, Path: "/ManifestReleases/*"})
		cmd := h.Command("setup")
		cmd.Stdin = strings.NewReader(h.Provider.URL() + "\n" + e2e.CustomerID + "\n1\n")
		h.Must(cmd.Start())
		h.Eventually("the files", func() bool {
			_, err := os.Stat(h.Path("syncd.yaml"))
			return !errors.Is(err, fs.ErrNotExist)
		})
		h.Must(cmd.Process.Signal(syscall.SIGINT))
		_ = cmd.Wait() // the exit code tells
		e2e.Same(h, "exit code", 1, cmd.ProcessState.ExitCode())
		nothingLeft(h)
	})
}

// Who can write in the folder above the configuration can exchange it for another one while
// setup runs.
func TestAnInterruptedSetupRemovesNoFileOfAnotherFolder(t *testing.T) {
	t.Parallel()
	h := newSetup(t)
	h.Must(errors.Join(os.Mkdir(h.Path("conf"), 0o755), os.Mkdir(h.Path("other"), 0o755)))
	h.Write("other/syncd.yaml", "mine", 0o600)
	h.Write("other/customer_id", "ANOTHER-0002\n", 0o600)
	h.Provider.AddFault(emulator.Fault{Kind: emulator.KindStall, Path: "/ManifestReleases/*"})
	cmd := h.Command("setup", "--config", h.Path("conf/syncd.yaml"))
	cmd.Stdin = strings.NewReader(h.Provider.URL() + "\n" + e2e.CustomerID + "\n1\n")
	h.Must(cmd.Start())
	h.Eventually("the files", func() bool {
		_, err := os.Stat(h.Path("conf/syncd.yaml"))
		return err == nil
	})
	h.Must(errors.Join(os.Rename(h.Path("conf"), h.Path("moved")), os.Symlink("other", h.Path("conf"))))
	h.Must(cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait() // the exit code tells
	e2e.Same(h, "exit code", 1, cmd.ProcessState.ExitCode())
	e2e.Same(h, "configuration of the other folder", "mine", string(h.Read("other/syncd.yaml")))
	e2e.Same(h, "Customer ID of the other folder", "ANOTHER-0002\n", string(h.Read("other/customer_id")))
	left, err := os.ReadDir(h.Path("moved"))
	h.Must(err)
	e2e.Same(h, "files left", 0, len(left))
}
