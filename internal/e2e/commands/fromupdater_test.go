package commands_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"syncd/internal/e2e"
)

// updaterLicence is the licence in internal/config/migration/testdata/lines.
const updaterLicence = "K3YofTheHost"

func TestConfigurationFromTheUpdaterPassesTheCheckAndHidesTheLicence(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../../internal/config/migration/testdata/lines/*.txt")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d texts, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			h := e2e.NewHost(t)
			h.Environ = append(h.Environ, "MD_LICENSE="+e2e.CustomerID)
			text, err := filepath.Abs(path)
			h.Must(err)
			r := h.Expect(0, "config", "from-updater", text)
			if strings.Contains(strings.ToLower(r.Stdout+r.Stderr), strings.ToLower(updaterLicence)) {
				t.Errorf("shows the licence:\n%s%s", r.Stdout, r.Stderr)
			}
			h.Write("syncd.yaml", strings.Replace(r.Stdout, "/etc/syncd/customer_id", h.Path("id"), 1), 0o600)
			h.Contains("config check", h.Expect(0, "config", "check").Stdout, "syncd.yaml: ok")
		})
	}
}

func TestConfigurationFromTheUpdaterUsesItsMapFiles(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Must(os.Mkdir(h.Path("maps"), 0o755))
	h.Write("maps/a.map", "mdAddr.dat|DATA|ANY|ANY|ANY|addr/mdAddr.dat\n", 0o644)
	h.Write("maps/bad.map", "mdAddr.dat|DATA|ANY|ANY|ANY|../mdAddr.dat\n", 0o644)
	lines := h.Path("Updater") + " manifest -p dq_addr_data -m ./maps/a.map -t /srv/a -l " + updaterLicence + "\n" +
		h.Path("Updater") + " manifest -p dq_phone_data -m ./maps/bad.map -t /srv/b -l " + updaterLicence + "\n"
	cmd := h.Command("config", "from-updater")
	cmd.Stdin = strings.NewReader(lines)
	out, err := cmd.Output()
	h.Must(err)
	h.Contains("configuration", string(out), "layout: map\n", "dq_addr_data: "+h.Path("maps/a.map"), h.Path("maps/bad.map")+"\" is no usable map file here", "layout: provider\n")
	h.Write("syncd.yaml", strings.Replace(string(out), "/etc/syncd/customer_id", h.Path("id"), 1), 0o600)
	h.Expect(0, "config", "check")
}

func TestTextWithoutTheUpdaterIsAUsageError(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Write("crontab", "0 3 * * * /opt/updater/Updater manifest -l "+updaterLicence+"\n0 3 * * * /opt/updater/Updater manifest -p 'x -l "+updaterLicence+"\n", 0o600)
	r := h.Expect(2, "config", "from-updater", h.Path("crontab"))
	h.Contains("stderr", r.Stderr, "no command line of the updater that downloads something", "line 2 cannot be read")
	if strings.Contains(r.Stdout+r.Stderr, updaterLicence) {
		t.Errorf("shows the licence: %s%s", r.Stdout, r.Stderr)
	}
	h.Contains("stderr", h.Expect(2, "config", "from-updater", h.Path("absent")).Stderr, "no such file", "name a crontab or a script")
}

// The script that a crontab calls comes as a second file, over standard input, or is found
// by its path. UTF-16 is read from each.
func TestTheScriptThatACrontabCallsIsRead(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t)
	h.Must(os.Mkdir(h.Path("host"), 0o755))
	script := "#!/bin/sh\n/opt/updater/Updater manifest -p \"$1\" -r 2026.9 -l " + updaterLicence + " -t /srv/refdata || mail -s failed ops\n"
	h.Write("script.sh", script, 0o600)
	h.Write("host/refdata.sh", script, 0o755)
	var wide []byte
	for _, unit := range utf16.Encode([]rune(strings.ReplaceAll(script, "\n", "\r\n"))) {
		wide = binary.LittleEndian.AppendUint16(wide, unit)
	}
	h.Write("utf16.sh", string(wide), 0o600)
	for name, row := range map[string]struct {
		line, stdin string
		args        []string
	}{
		"second file":       {"/absent/script.sh dq_addr_data", "", []string{"crontab", "script.sh"}},
		"in UTF-16":         {"sh /absent/utf16.sh dq_addr_data", "", []string{"crontab", "utf16.sh"}},
		"standard input":    {"/absent/refdata dq_addr_data", script, []string{"crontab", "-"}},
		"by its path":       {h.Path("host/refdata.sh") + " dq_addr_data", "", []string{"crontab"}},
		"crontab on stdin":  {"", "0 3 * * * /absent/script.sh dq_addr_data\n", []string{"-", "script.sh"}},
		"script by a shell": {"root nice bash " + h.Path("host/refdata.sh") + " dq_addr_data", "", []string{"crontab"}},
	} {
		h.Write("crontab", "0 3 * * * "+row.line+"\n", 0o600)
		cmd := h.Command(append([]string{"config", "from-updater"}, row.args...)...)
		cmd.Stdin = strings.NewReader(row.stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		h.Contains(name, string(out), "- name: dq_addr_data\n    release: \"2026.09\"\n    schedule: \"0 3 * * *\"\n", "mail: left out: after a failure, a hook starts it", "export: /srv/refdata")
		if strings.Contains(string(out), updaterLicence) {
			t.Errorf("%s: shows the licence:\n%s", name, out)
		}
	}
	h.Write("crontab", "0 3 * * * /absent/script.sh dq_addr_data\n", 0o600)
	h.Contains("stderr", h.Expect(2, "config", "from-updater", "crontab").Stderr, "line 1 calls /absent/script.sh, which cannot be read here", "`syncd config from-updater FILE /absent/script.sh`")
}

// The words of a script come into the configuration. A crontab of another user must not bring
// those of a file there that only root may read.
func TestACrontabReadsNoFileThatOnlyRootMayRead(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: needs root")
	}
	h := e2e.NewHost(t)
	h.Must(os.Mkdir(h.Path("root"), 0o700))
	h.Write("my.cnf", "[client]\npassword=Sup3rSecret\n", 0o600)
	h.Write("root/tokens", "token-Sup3rSecret\n", 0o644)
	updater := "0 3 * * * " + h.Path("Updater") + " manifest -p dq_addr_data "
	for name, text := range map[string]string{
		"variables": "0 3 * * * . " + h.Path("my.cnf") + "; " + h.Path("Updater") + " manifest -p dq_addr_data -t /srv/$password\n",
		"script":    updater + "\n1 3 * * * sh " + h.Path("my.cnf") + "\n2 3 * * * . " + h.Path("root/tokens") + "\n",
	} {
		h.Write("crontab", text, 0o600)
		out := h.Expect(0, "config", "from-updater", "crontab").Stdout
		if strings.Contains(strings.ToLower(out), "sup3r") || !strings.Contains(out, "my.cnf, which cannot be read here") {
			t.Errorf("%s:\n%s", name, out)
		}
	}
	h.Contains("stdout", h.Expect(0, "config", "from-updater", "crontab", "my.cnf").Stdout, "dq_addr_data")
}
