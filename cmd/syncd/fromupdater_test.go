package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// updaterLicence is the licence in internal/config/migration/testdata/lines.
const updaterLicence = "K3YofTheHost"

func TestConfigurationFromTheUpdaterPassesTheCheckAndHidesTheLicence(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../internal/config/migration/testdata/lines/*.txt")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d texts, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.environ = append(h.environ, "MD_LICENSE="+customerID)
			text, err := filepath.Abs(path)
			h.must(err)
			r := h.expect(0, "config", "from-updater", text)
			if strings.Contains(strings.ToLower(r.stdout+r.stderr), strings.ToLower(updaterLicence)) {
				t.Errorf("shows the licence:\n%s%s", r.stdout, r.stderr)
			}
			h.write("syncd.yaml", strings.Replace(r.stdout, "/etc/syncd/customer_id", h.path("id"), 1), 0o600)
			h.contains("config check", h.expect(0, "config", "check").stdout, "syncd.yaml: ok")
		})
	}
}

func TestConfigurationFromTheUpdaterUsesItsMapFiles(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.must(os.Mkdir(h.path("maps"), 0o755))
	h.write("maps/a.map", "mdAddr.dat|DATA|ANY|ANY|ANY|addr/mdAddr.dat\n", 0o644)
	h.write("maps/bad.map", "mdAddr.dat|DATA|ANY|ANY|ANY|../mdAddr.dat\n", 0o644)
	lines := h.path("Updater") + " manifest -p dq_addr_data -m ./maps/a.map -t /srv/a -l " + updaterLicence + "\n" +
		h.path("Updater") + " manifest -p dq_phone_data -m ./maps/bad.map -t /srv/b -l " + updaterLicence + "\n"
	cmd := h.command("config", "from-updater")
	cmd.Stdin = strings.NewReader(lines)
	out, err := cmd.Output()
	h.must(err)
	h.contains("configuration", string(out), "layout: map\n", "dq_addr_data: "+h.path("maps/a.map"), h.path("maps/bad.map")+"\" is no usable map file here", "layout: provider\n")
	h.write("syncd.yaml", strings.Replace(string(out), "/etc/syncd/customer_id", h.path("id"), 1), 0o600)
	h.expect(0, "config", "check")
}

func TestTextWithoutTheUpdaterIsAUsageError(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.write("crontab", "0 3 * * * /opt/updater/Updater manifest -l "+updaterLicence+"\n0 3 * * * /opt/updater/Updater manifest -p 'x -l "+updaterLicence+"\n", 0o600)
	r := h.expect(2, "config", "from-updater", h.path("crontab"))
	h.contains("stderr", r.stderr, "no command line of the updater that downloads something", "line 2 cannot be read")
	if strings.Contains(r.stdout+r.stderr, updaterLicence) {
		t.Errorf("shows the licence: %s%s", r.stdout, r.stderr)
	}
	h.contains("stderr", h.expect(2, "config", "from-updater", h.path("absent")).stderr, "no such file", "name a crontab or a script")
}
