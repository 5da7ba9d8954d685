//go:build linux

package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const providerAddress = "127.0.0.1:7800"

const configuration = `source: {url: "http://` + providerAddress + `"}    # syncd emulator
data_dir: ./data
manifests:
  - name: dq_addr_data
  - name: dq_addr_bins
`

// session are the commands of the recording. The provider publishes its next release
// before the step that says so.
var session = []struct {
	command string
	advance bool
}{
	{command: "cat syncd.yaml"},
	{command: "syncd sync"},
	{command: "ls data/current/dq_addr_data/"},
	{command: "syncd sync --dry-run    # the provider has published the next month", advance: true},
	{command: "syncd sync"},
	{command: "syncd rollback    # back at once, and held there"},
	{command: "syncd sync"},
	{command: "syncd verify"},
}

// provider is a running emulator, slow enough that progress can be seen.
type provider struct{ cmd *exec.Cmd }

func startProvider(program string) (*provider, error) {
	p := &provider{exec.Command(program, "emulator", "--listen", providerAddress, "--fault", "kind=slow,rate=6000000,host=download")}
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var res *http.Response
		if res, err = http.Get("http://" + providerAddress + "/-/requests"); err == nil {
			return p, res.Body.Close()
		}
	}
	p.stop()
	return nil, fmt.Errorf("the emulator does not answer: %w", err)
}

func (p *provider) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func advance() error {
	res, err := http.Post("http://"+providerAddress+"/-/advance", "", nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the emulator answers %s", res.Status)
	}
	return nil
}

// play runs the session in dir and records it.
func play(r *recording, program, dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "syncd.yaml"), []byte(configuration), 0o644); err != nil {
		return err
	}
	environ := []string{
		"PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH"), "TERM=xterm", "LC_ALL=C.UTF-8",
		"SYNCD_CONFIG=syncd.yaml", "SYNCD_CUSTOMER_ID=CID-0001",
	}
	for _, step := range session {
		if step.advance {
			if err := advance(); err != nil {
				return err
			}
		}
		r.typeCommand(step.command)
		cmd := exec.Command("sh", "-c", step.command)
		cmd.Dir, cmd.Env = dir, environ
		if err := r.record(cmd); err != nil {
			return fmt.Errorf("%s: %w", step.command, err)
		}
		r.pause(time.Second)
	}
	return nil
}

// record runs a command on a new terminal.
func (r *recording) record(cmd *exec.Cmd) error {
	terminal, err := openTerminal()
	if err != nil {
		return err
	}
	defer terminal.Close()
	if err := terminal.start(cmd); err != nil {
		return err
	}
	buffer, last := make([]byte, 1<<16), time.Now()
	for {
		n, err := terminal.Read(buffer)
		if err != nil && !isHangup(err) {
			return err
		}
		r.pause(min(time.Since(last), longestGap))
		last = time.Now()
		if wrong := r.write(buffer[:n]); wrong != nil {
			return wrong
		}
		if err != nil {
			r.frame()
			return cmd.Wait()
		}
	}
}
