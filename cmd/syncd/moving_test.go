package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"syncd/internal/emulator"
)

// movedFile is a file of the provider, and what the updater left of it.
type movedFile struct {
	manifest string
	file     emulator.File
	mapped   string // its path by the map files
	text     string
	old      string // content of the file in the old folder; "" if it is missing there
}

func (f movedFile) reference() string {
	if f.file.Class == emulator.ClassLibrary {
		return f.file.Name + "|BINARY|" + f.file.OS + "|" + f.file.Compiler + "|" + f.file.Architecture
	}
	return f.file.Name + "|DATA|ANY|ANY|ANY"
}

func dataFile(name, text, old string) movedFile {
	return movedFile{"dq_addr_data", emulator.File{Name: name, Content: emulator.Text(text)}, "addr/" + name, text, old}
}

func libraryFile(architecture, text, old string) movedFile {
	f := emulator.File{Class: emulator.ClassLibrary, OS: "LINUX", Compiler: "GCC48", Architecture: architecture, Name: "libmdAddr.so", Content: emulator.Text(text)}
	return movedFile{"dq_addr_bins", f, "lib/" + strings.ToLower(architecture) + "/libmdAddr.so", text, old}
}

// movedFiles have one damaged file, one that is out of date and one that is missing.
func movedFiles(mapped bool) []movedFile {
	long := strings.Repeat("0123456789abcdef", 1<<14)
	files := []movedFile{
		dataFile("same.dat", long, long),
		dataFile("damaged.dat", "x"+long, "y"+long),
		dataFile("outdated.dat", "new "+long, "old"+long),
		dataFile("missing.dat", "missing", ""),
	}
	if mapped {
		files = append(files, libraryFile("64BIT", "library 64", "library 64"), libraryFile("32BIT", "library 32", "library 99"))
	}
	return files
}

// moving is a host that the updater has served, and the steps of docs/moving-in.md.
type moving struct {
	*host
	mapped, hashes bool
	files          []movedFile
	folder         string // that the software reads
	blocks         []string
	crontab        string
	shell          *process
	stdin          io.Writer
	ran            int
}

func TestMovingInWorksWordForWordAsDocumented(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ mapped, hashes bool }{
		"flat": {false, false}, "flat, with hash files": {false, true},
		"by maps": {true, false}, "by maps, with hash files": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMoving(t, row.mapped, row.hashes)
			before := m.oldStats()
			readers := m.openAll()
			last := len(m.blocks) - 1
			watch := m.watchByPath()
			for _, block := range m.blocks[:last] {
				m.run(block)
				for _, r := range readers {
					r.readOn(m.host)
				}
			}
			m.checkMovedIn()
			m.checkNextRelease()
			watch()
			for _, r := range readers {
				r.finish(m.host)
			}
			m.contains("the last block", m.blocks[last], "refdata.before-syncd", "crontab ")
			m.run(m.blocks[last])
			same(m.host, "the old folder", before, m.oldStats())
			same(m.host, "crontab", m.crontab, string(m.read("etc/crontab.root")))
			for _, block := range m.blocks[1:last] { // the user is there
				m.run(block)
			}
			m.checkFolder()
			m.wantDownloads()
			m.checkLicence()
		})
	}
}

func newMoving(t *testing.T, mapped, hashes bool) *moving {
	t.Helper()
	m := &moving{host: asRoot(t), mapped: mapped, hashes: hashes, files: movedFiles(mapped)}
	m.data, m.folder = m.path("srv/provider/syncd"), m.path("srv/provider/refdata")
	m.publishMoved("2026.10")
	m.readSteps()
	for _, dir := range []string{"root", "srv/provider", "opt/updater/maps", "log", "bin"} {
		m.must(os.MkdirAll(m.path(dir), 0o755))
	}
	if out, err := exec.Command("cp", "-a", "/etc", m.path("etc")).CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	m.write("etc/crontab.root", m.crontab, 0o600)
	m.write("bin/crontab", fakeCrontab, 0o755)
	m.write("bin/systemctl", fakeSystemctl, 0o755)
	m.binary = copyBinary(m.host)
	m.must(os.Rename(m.binary, m.path("bin/syncd")))
	m.fillFolder()
	m.startShell()
	return m
}

func (m *moving) publishMoved(release string) {
	byManifest := map[string][]emulator.File{}
	for _, f := range m.files {
		byManifest[f.manifest] = append(byManifest[f.manifest], f.file)
	}
	for name, files := range byManifest {
		m.provider.SetManifest(name, release, files...)
	}
}

// readSteps takes the commands, and the line of the crontab, from docs/moving-in.md. The
// first block makes the user and the unit, as docs/first-hour.md does without a package.
func (m *moving) readSteps() {
	m.Helper()
	parts := strings.Split(m.section("moving-in.md", "The steps"), "\n```")
	if len(parts)%2 == 0 {
		m.Fatal("docs/moving-in.md has a block without its end")
	}
	var install []string
	for line := range strings.Lines(m.section("first-hour.md", "Without a package")) {
		if strings.HasPrefix(line, "useradd ") || strings.HasPrefix(line, "install -m 644 deploy/systemd/") {
			install = append(install, line)
		}
	}
	same(m.host, "lines that make the user and the unit", 2, len(install))
	m.blocks = []string{strings.Join(install, "")}
	for i := 1; i < len(parts); i += 2 {
		kind, block, _ := strings.Cut(parts[i], "\n")
		if kind == "text" {
			m.crontab = m.crontabOf(block)
			continue
		}
		m.blocks = append(m.blocks, block)
	}
}

// section is the text below a heading of a document.
func (m *moving) section(document, heading string) string {
	m.Helper()
	text, err := os.ReadFile("../../docs/" + document)
	m.must(err)
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	section, _, ended := strings.Cut(section, "\n## ")
	if !found || !ended {
		m.Fatalf("docs/%s has no section %q, or it is the last one", document, heading)
	}
	return section
}

// crontabOf puts the licence, and the map files if there are any, into the example.
func (m *moving) crontabOf(line string) string {
	line = strings.Replace(line, "LICENCE", "'"+strings.ReplaceAll(customerID, "%", `\%`)+"'", 1) + "\n"
	text := "MAILTO=\"\"\n# the backup\n15 1 * * * /usr/local/bin/backup\n"
	if !m.mapped {
		return text + line
	}
	line = strings.Replace(line, "-p dq_addr_data", "-p dq_addr_data -m ./maps/dq_addr_data.map", 1)
	return text + line + strings.ReplaceAll(line, "dq_addr_data", "dq_addr_bins")
}

// at is the path of a file below the folder.
func (m *moving) at(f movedFile) string {
	if m.mapped {
		return f.mapped
	}
	return f.file.Name
}

// fillFolder does what runs of the updater have left. The .hash file of a file that was
// damaged later still has the right digest.
func (m *moving) fillFolder() {
	m.Helper()
	put := func(name, text string) {
		m.must(os.MkdirAll(filepath.Dir(filepath.Join(m.folder, name)), 0o755))
		m.must(os.WriteFile(filepath.Join(m.folder, name), []byte(text), 0o644))
	}
	maps := map[string]string{}
	for _, f := range m.files {
		maps[f.manifest] += f.reference() + "|" + f.mapped + "\r\n"
		if f.old == "" {
			continue
		}
		put(m.at(f), f.old)
		if m.hashes {
			put(m.at(f)+".hash", m.digest(strings.NewReader(f.text)))
		}
	}
	put("left_the_manifest.dat", "of an earlier release")
	for name, text := range maps {
		m.write("opt/updater/maps/"+name+".map", "\uFEFF"+strings.TrimSuffix(text, "\r\n"), 0o644)
	}
	m.must(filepath.Walk(filepath.Join(m.path("srv/provider")), func(name string, _ os.FileInfo, err error) error {
		m.must(err)
		return os.Chown(name, otherUID, otherGID)
	}))
}

func (m *moving) oldStats() map[string]string {
	all := stats(m.host, m.folder)
	delete(all, m.folder) // a rename changes its time
	return all
}

// Neither program belongs to syncd. These do what the steps need of them.
const (
	fakeCrontab = `#!/bin/sh
case $1 in
-l) cat /etc/crontab.root ;;
-) cat > /etc/crontab.root ;;
*) cat "$1" > /etc/crontab.root ;;
esac
`
	fakeSystemctl = `#!/bin/sh
set -eu
grep -q '^LoadCredential=$' /etc/systemd/system/syncd.service.d/*.conf
grep -q '^User=syncd$' /etc/systemd/system/syncd.service
case "$*" in
"enable --now syncd")
	setpriv --reuid syncd --regid syncd --init-groups syncd run > /srv/daemon.log 2>&1 &
	echo $! > /srv/daemon.pid
	until syncd healthcheck; do kill -0 $!; sleep 0.1; done ;;
"disable --now syncd")
	kill "$(cat /srv/daemon.pid)"
	while syncd healthcheck; do sleep 0.1; done ;;
esac > /dev/null 2>&1
`
)

// startShell starts the terminal session: bash in a mount namespace, where the paths of
// the document are folders of this test. All that it starts ends with it.
func (m *moving) startShell() {
	m.Helper()
	const namespace = `cd "$0/../.."
for dir in etc root srv opt; do mount --bind "$1/$dir" "/$dir"; done
mount --bind "$1/log" /var/log
exec bash -euo pipefail`
	here, err := os.Getwd()
	m.must(err)
	p := &process{h: m.host, stdout: &buffer{}, done: make(chan struct{})}
	p.stderr = p.stdout
	p.cmd = exec.Command("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc",
		"bash", "-euo", "pipefail", "-c", namespace, here, m.dir)
	p.cmd.Env = []string{
		runMain + "=1", "GORACE=halt_on_error=1 atexit_sleep_ms=0", "PATH=" + m.path("bin") + ":" + os.Getenv("PATH"),
		"CUSTOMER_ID=" + customerID, "RELEASES=" + m.provider.URL(), "SYNCD_HTTP_LISTEN=127.0.0.1:0",
	}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stdout
	m.stdin, err = p.cmd.StdinPipe()
	m.must(err)
	m.must(p.cmd.Start())
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the sentinel of run tells whether commands succeed
	}()
	m.shell = p
	m.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		m.secretFree("the session", p.stdout.String())
		if m.Failed() {
			m.Logf("the session printed:\n%s", p.stdout)
		}
	})
}

// run pastes commands into the session and waits for their end. It returns what they print.
func (m *moving) run(commands string) string {
	m.Helper()
	m.ran++
	sentinel := "-- end of block " + itoa(m.ran) + "\n"
	before := len(m.shell.stdout.String())
	_, err := io.WriteString(m.stdin, "{\n"+commands+"\n} < /dev/null\necho '"+strings.TrimSuffix(sentinel, "\n")+"'\n")
	m.must(err)
	m.eventually("the end of\n"+commands, func() bool {
		if strings.Contains(m.shell.stdout.String(), sentinel) {
			return true
		}
		select {
		case <-m.shell.done:
			m.Fatalf("a command failed:\n%s", commands)
		default:
		}
		return false
	})
	return m.shell.stdout.String()[before:]
}

// openReader is a program that keeps a file of the old folder open.
type openReader struct {
	file *os.File
	want string
	got  bytes.Buffer
}

func (m *moving) openAll() (readers []*openReader) {
	m.Helper()
	for _, f := range m.files {
		if f.old == "" {
			continue
		}
		file, err := os.Open(filepath.Join(m.folder, m.at(f)))
		m.must(err)
		m.Cleanup(func() { file.Close() })
		readers = append(readers, &openReader{file: file, want: f.old})
	}
	return readers
}

func (r *openReader) readOn(h *host) {
	h.Helper()
	if _, err := io.CopyN(&r.got, r.file, int64(len(r.want)/20)); err != nil {
		h.Fatalf("reading on in %s: %v", r.file.Name(), err)
	}
}

// finish requires the whole old content, whatever lies at the path now.
func (r *openReader) finish(h *host) {
	h.Helper()
	_, err := r.got.ReadFrom(r.file)
	h.must(err)
	if r.got.String() != r.want {
		h.Errorf("an open %s changed under its reader", r.file.Name())
	}
}

// watchByPath opens a file again and again, as the software does. It must always be
// there and whole. end stops it.
func (m *moving) watchByPath() (end func()) {
	same, stop, done := m.files[0], make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for opens := 0; ; opens++ {
			select {
			case <-stop:
				if opens == 0 {
					m.Error("the software read nothing")
				}
				return
			default:
			}
			if text, err := os.ReadFile(filepath.Join(m.folder, m.at(same))); err != nil || string(text) != same.text {
				m.Errorf("the software found %d bytes, %v", len(text), err)
				<-stop
				return
			}
		}
	}()
	return func() { close(stop); <-done }
}

// checkMovedIn requires that the folder is the export, whole, and that only what differs
// was downloaded.
func (m *moving) checkMovedIn() {
	m.Helper()
	downloads := []string{"damaged.dat", "missing.dat", "outdated.dat"}
	if m.mapped {
		downloads = append(downloads, "libmdAddr.so")
		slices.Sort(downloads)
	}
	m.wantDownloads(downloads...)
	m.contains("adopt", m.shell.stdout.String(), "the next sync downloads "+itoa(len(downloads))+" files (")
	m.contains("the first sync", m.shell.stdout.String(), "syncd: refdata: refused: export /srv/provider/refdata: the folder holds",
		"`syncd sync --take-over refdata` replaces it and keeps it as /srv/provider/refdata.before-syncd")
	m.contains("diff", m.shell.stdout.String(), "Only in /srv/provider/refdata: left_the_manifest.dat")
	m.checkFolder()
	m.contains("explain", m.run("syncd explain"), "dq_addr_data: up to date with 2026.10")
	m.run("syncd verify")
	_, err := os.Stat(filepath.Join(m.folder+".before-syncd", "left_the_manifest.dat"))
	m.must(err)
	same(m.host, "crontab", "MAILTO=\"\"\n# the backup\n15 1 * * * /usr/local/bin/backup\n", string(m.read("etc/crontab.root")))
}

// checkFolder compares every file of the folder with the newest release. The files are
// hard links to the mirror.
func (m *moving) checkFolder() {
	m.Helper()
	want, got := map[string]string{}, map[string]string{}
	for _, f := range m.files {
		want[m.at(f)], want[m.at(f)+".hash"] = f.text, m.digest(strings.NewReader(f.text))
		export, err := os.Stat(filepath.Join(m.folder, m.at(f)))
		m.must(err)
		served, err := os.Stat(filepath.Join(m.data, "current/refdata", m.at(f)))
		m.must(err)
		same(m.host, "is a hard link", true, os.SameFile(export, served))
	}
	m.must(filepath.Walk(m.folder, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		relative, _ := filepath.Rel(m.folder, name)
		got[relative] = string(text)
		return err
	}))
	same(m.host, "the folder", want, got)
}

// checkNextRelease requires that the daemon exports what comes later.
func (m *moving) checkNextRelease() {
	m.Helper()
	m.files[2].text = "newest"
	m.files[2].file.Content = emulator.Text("newest")
	m.publishMoved("2026.11")
	m.run("syncd sync")
	m.wantDownloads(path.Base(m.at(m.files[2])))
	m.checkFolder()
}

func (m *moving) checkLicence() {
	m.Helper()
	m.secretFree("the configuration", string(m.read("etc/syncd/syncd.yaml")))
	m.secretFree("the daemon's log", string(m.read("srv/daemon.log")))
	same(m.host, "customer_id", customerID+"\n", string(m.read("etc/syncd/customer_id")))
}
