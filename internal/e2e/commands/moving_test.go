package commands_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"syncd/internal/e2e"
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
	*e2e.Host
	mapped, hashes bool
	files          []movedFile
	folder         string // that the software reads
	blocks         []string
	crontab        string
	shell          *e2e.Process
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
					r.readOn(m.Host)
				}
			}
			m.checkMovedIn()
			m.checkNextRelease()
			watch()
			for _, r := range readers {
				r.finish(m.Host)
			}
			m.Contains("the last block", m.blocks[last], "refdata.before-syncd", "crontab ")
			m.run(m.blocks[last])
			e2e.Same(m.Host, "the old folder", before, m.oldStats())
			e2e.Same(m.Host, "crontab", m.crontab, string(m.Read("etc/crontab.root")))
			for _, block := range m.blocks[1:last] { // the user is there
				m.run(block)
			}
			m.checkFolder()
			m.WantDownloads()
			m.checkLicence()
		})
	}
}

func newMoving(t *testing.T, mapped, hashes bool) *moving {
	t.Helper()
	m := &moving{Host: e2e.AsRoot(t), mapped: mapped, hashes: hashes, files: movedFiles(mapped)}
	m.Data, m.folder = m.Path("srv/provider/syncd"), m.Path("srv/provider/refdata")
	m.publishMoved("2026.10")
	m.readSteps()
	for _, dir := range []string{"root", "srv/provider", "opt/updater/maps", "log", "bin"} {
		m.Must(os.MkdirAll(m.Path(dir), 0o755))
	}
	if out, err := exec.Command("cp", "-a", "/etc", m.Path("etc")).CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	m.Write("etc/crontab.root", m.crontab, 0o600)
	m.Write("bin/crontab", fakeCrontab, 0o755)
	m.Write("bin/systemctl", fakeSystemctl, 0o755)
	m.Binary = e2e.CopyBinary(m.Host)
	m.Must(os.Rename(m.Binary, m.Path("bin/syncd")))
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
		m.Provider.SetManifest(name, release, files...)
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
	e2e.Same(m.Host, "lines that make the user and the unit", 2, len(install))
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
	text, err := os.ReadFile("../../../docs/" + document)
	m.Must(err)
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	section, _, ended := strings.Cut(section, "\n## ")
	if !found || !ended {
		m.Fatalf("docs/%s has no section %q, or it is the last one", document, heading)
	}
	return section
}

// crontabOf puts the licence, and the map files if there are any, into the example.
func (m *moving) crontabOf(line string) string {
	line = strings.Replace(line, "LICENCE", "'"+strings.ReplaceAll(e2e.CustomerID, "%", `\%`)+"'", 1) + "\n"
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
		m.Must(os.MkdirAll(filepath.Dir(filepath.Join(m.folder, name)), 0o755))
		m.Must(os.WriteFile(filepath.Join(m.folder, name), []byte(text), 0o644))
	}
	maps := map[string]string{}
	for _, f := range m.files {
		maps[f.manifest] += f.reference() + "|" + f.mapped + "\r\n"
		if f.old == "" {
			continue
		}
		put(m.at(f), f.old)
		if m.hashes {
			put(m.at(f)+".hash", m.Digest(strings.NewReader(f.text)))
		}
	}
	put("left_the_manifest.dat", "of an earlier release")
	for name, text := range maps {
		m.Write("opt/updater/maps/"+name+".map", "\uFEFF"+strings.TrimSuffix(text, "\r\n"), 0o644)
	}
	m.Must(filepath.Walk(filepath.Join(m.Path("srv/provider")), func(name string, _ os.FileInfo, err error) error {
		m.Must(err)
		return os.Chown(name, e2e.OtherUID, e2e.OtherGID)
	}))
}

func (m *moving) oldStats() map[string]string {
	all := e2e.Stats(m.Host, m.folder)
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
	const namespace = `cd "$0/../../.."
for dir in etc root srv opt; do mount --bind "$1/$dir" "/$dir"; done
mount --bind "$1/log" /var/log
exec bash -euo pipefail`
	here, err := os.Getwd()
	m.Must(err)
	p := &e2e.Process{Host: m.Host, Stdout: &e2e.Buffer{}, Done: make(chan struct{})}
	p.Stderr = p.Stdout
	p.Cmd = exec.Command("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc",
		"bash", "-euo", "pipefail", "-c", namespace, here, m.Dir)
	p.Cmd.Env = []string{
		"GORACE=halt_on_error=1 atexit_sleep_ms=0", "PATH=" + m.Path("bin") + ":" + os.Getenv("PATH"),
		"CUSTOMER_ID=" + e2e.CustomerID, "RELEASES=" + m.Provider.URL(), "SYNCD_HTTP_LISTEN=127.0.0.1:0",
	}
	p.Cmd.Stdout, p.Cmd.Stderr = p.Stdout, p.Stdout
	m.stdin, err = p.Cmd.StdinPipe()
	m.Must(err)
	m.Must(p.Cmd.Start())
	go func() {
		defer close(p.Done)
		_ = p.Cmd.Wait() // the sentinel of run tells whether commands succeed
	}()
	m.shell = p
	m.Cleanup(func() {
		_ = p.Cmd.Process.Kill()
		<-p.Done
		m.SecretFree("the session", p.Stdout.String())
		if m.Failed() {
			m.Logf("the session printed:\n%s", p.Stdout)
		}
	})
}

// run pastes commands into the session and waits for their end. It returns what they print.
func (m *moving) run(commands string) string {
	m.Helper()
	m.ran++
	sentinel := "-- end of block " + strconv.Itoa(m.ran) + "\n"
	before := len(m.shell.Stdout.String())
	_, err := io.WriteString(m.stdin, "{\n"+commands+"\n} < /dev/null\necho '"+strings.TrimSuffix(sentinel, "\n")+"'\n")
	m.Must(err)
	m.Eventually("the end of\n"+commands, func() bool {
		if strings.Contains(m.shell.Stdout.String(), sentinel) {
			return true
		}
		select {
		case <-m.shell.Done:
			m.Fatalf("a command failed:\n%s", commands)
		default:
		}
		return false
	})
	return m.shell.Stdout.String()[before:]
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
		m.Must(err)
		m.Cleanup(func() { file.Close() })
		readers = append(readers, &openReader{file: file, want: f.old})
	}
	return readers
}

func (r *openReader) readOn(h *e2e.Host) {
	h.Helper()
	if _, err := io.CopyN(&r.got, r.file, int64(len(r.want)/20)); err != nil {
		h.Fatalf("reading on in %s: %v", r.file.Name(), err)
	}
}

// finish requires the whole old content, whatever lies at the path now.
func (r *openReader) finish(h *e2e.Host) {
	h.Helper()
	_, err := r.got.ReadFrom(r.file)
	h.Must(err)
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
	m.WantDownloads(downloads...)
	m.Contains("adopt", m.shell.Stdout.String(), "the next sync downloads "+strconv.Itoa(len(downloads))+" files (")
	m.Contains("the first sync", m.shell.Stdout.String(), "syncd: refdata: refused: export /srv/provider/refdata: the folder holds",
		"`syncd sync --take-over refdata` replaces it and keeps it as /srv/provider/refdata.before-syncd")
	m.Contains("diff", m.shell.Stdout.String(), "Only in /srv/provider/refdata: left_the_manifest.dat")
	m.checkFolder()
	m.Contains("explain", m.run("syncd explain"), "dq_addr_data: up to date with 2026.10")
	m.run("syncd verify")
	_, err := os.Stat(filepath.Join(m.folder+".before-syncd", "left_the_manifest.dat"))
	m.Must(err)
	e2e.Same(m.Host, "crontab", "MAILTO=\"\"\n# the backup\n15 1 * * * /usr/local/bin/backup\n", string(m.Read("etc/crontab.root")))
}

// checkFolder compares every file of the folder with the newest release. The files are
// hard links to the mirror.
func (m *moving) checkFolder() {
	m.Helper()
	want, got := map[string]string{}, map[string]string{}
	for _, f := range m.files {
		want[m.at(f)], want[m.at(f)+".hash"] = f.text, m.Digest(strings.NewReader(f.text))
		export, err := os.Stat(filepath.Join(m.folder, m.at(f)))
		m.Must(err)
		served, err := os.Stat(filepath.Join(m.Data, "current/refdata", m.at(f)))
		m.Must(err)
		e2e.Same(m.Host, "is a hard link", true, os.SameFile(export, served))
	}
	m.Must(filepath.Walk(m.folder, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		relative, _ := filepath.Rel(m.folder, name)
		got[relative] = string(text)
		return err
	}))
	e2e.Same(m.Host, "the folder", want, got)
}

// checkNextRelease requires that the daemon exports what comes later.
func (m *moving) checkNextRelease() {
	m.Helper()
	newest := "newest " + m.files[2].text
	m.files[2].text, m.files[2].file.Content = newest, emulator.Text(newest)
	m.publishMoved("2026.11")
	m.run("syncd sync")
	m.WantDownloads(path.Base(m.at(m.files[2])))
	m.checkFolder()
}

func (m *moving) checkLicence() {
	m.Helper()
	m.SecretFree("the configuration", string(m.Read("etc/syncd/syncd.yaml")))
	m.SecretFree("the daemon's log", string(m.Read("srv/daemon.log")))
	e2e.Same(m.Host, "customer_id", e2e.CustomerID+"\n", string(m.Read("etc/syncd/customer_id")))
}
