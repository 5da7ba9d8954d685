package crash_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// volume is a file system in a sparse image, mounted through a loop device.
type volume struct {
	fs      string
	size    int64 // the minimum of its mkfs, with a margin
	options string
}

// machines are stacks of volumes. The first volume lies on the disk, each further one
// on the one before, and the data directory on the last. FS_IOC_SHUTDOWN cuts off the
// first. btrfs does not support that ioctl (ENOTTY in Linux 6.18), so it lies on ext4,
// which then acts as a disk that loses unflushed writes. The short commit intervals
// catch renames that reach the journal before the bytes of the file.
var machines = [][]volume{
	{{"ext4", 128 << 20, "commit=1"}},
	{{"xfs", 320 << 20, "nouuid"}}, // a copy is mounted beside its original, see restart
	{{"ext4", 384 << 20, "commit=1"}, {"btrfs", 256 << 20, "commit=1"}},
}

// onEachMachine runs a test on every machine, named by its last volume.
func onEachMachine(t *testing.T, test func(t *testing.T, d *disk)) { onMachines(t, machines, test) }

func onMachines(t *testing.T, machines [][]volume, test func(t *testing.T, d *disk)) {
	for _, volumes := range machines {
		t.Run(volumes[len(volumes)-1].fs, func(t *testing.T) {
			t.Parallel()
			test(t, newDisk(t, volumes))
		})
	}
}

// disk is a stack of volumes that loses unsynced data in a power cut.
type disk struct {
	*testing.T
	dir     string
	volumes []volume
}

func newDisk(t *testing.T, volumes []volume) *disk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: loop mounts need root")
	}
	for _, v := range volumes {
		if _, err := exec.LookPath("mkfs." + v.fs); err != nil {
			t.Skipf("NOT TESTED: no mkfs.%s: install e2fsprogs, xfsprogs and btrfs-progs", v.fs)
		}
	}
	d := &disk{T: t, dir: e2e.NewDir(t), volumes: volumes}
	d.guard()
	for i := range volumes {
		d.format(i)
		if err := d.mount(i); err != nil {
			t.Skipf("NOT TESTED: no loop mount here: %v", err)
		}
		if err := os.Chmod(d.point(i), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// guard unmounts the volumes, even when this process is killed: a shell waits for the
// end of its input. If a syncd is still running then, only a lazy unmount succeeds.
func (d *disk) guard() {
	d.Helper()
	const script = `cat >/dev/null; for point in "$@"; do
		if mountpoint -q "$point"; then umount "$point" 2>/dev/null || umount -l "$point"; fi
	done`
	args := []string{"-c", script, "sh"}
	for i := len(d.volumes) - 1; i >= 0; i-- {
		args = append(args, d.point(i))
	}
	shell := exec.Command("sh", args...)
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // keeps Ctrl-C away from it
	input, err := shell.StdinPipe()
	if err != nil {
		d.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() {
		input.Close()
		if err := shell.Wait(); err != nil {
			d.Errorf("umount: %v", err)
		}
		if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || bytes.Contains(mounts, []byte(d.dir)) {
			d.Errorf("still mounted below %s (%v):\n%s", d.dir, err, mounts)
		}
	})
}

func (d *disk) point(i int) string { return filepath.Join(d.dir, "mnt"+strconv.Itoa(i)) }

func (d *disk) fs() string { return d.volumes[len(d.volumes)-1].fs }

// root is the mount point of the last volume.
func (d *disk) root() string { return d.point(len(d.volumes) - 1) }

func (d *disk) image(i int) string {
	if i == 0 {
		return filepath.Join(d.dir, "image")
	}
	return filepath.Join(d.point(i-1), "image")
}

func (d *disk) format(i int) {
	d.Helper()
	err := os.Mkdir(d.point(i), 0o755)
	if err == nil {
		err = os.WriteFile(d.image(i), nil, 0o600)
	}
	if err == nil {
		err = os.Truncate(d.image(i), d.volumes[i].size)
	}
	if err == nil {
		err = d.run("mkfs."+d.volumes[i].fs, "-q", d.image(i))
	}
	if err == nil && i > 0 { // the image itself is older than any cut
		err = d.run("sync", "-f", d.image(i))
	}
	if err != nil {
		d.Fatal(err)
	}
}

func (d *disk) mount(i int) error {
	options := "loop"
	if d.volumes[i].options != "" {
		options += "," + d.volumes[i].options
	}
	return d.run("mount", "-t", d.volumes[i].fs, "-o", options, d.image(i), d.point(i))
}

func (d *disk) run(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// commitOthers commits the journal, as an fsync of another program does: all names
// created so far become durable, but not their bytes.
func (d *disk) commitOthers() {
	d.Helper()
	f, err := os.Create(filepath.Join(d.root(), "other"))
	if err != nil {
		d.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("bytes"); err != nil {
		d.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		d.Fatal(err)
	}
}

// cut simulates a power cut: unsynced data and all later writes are lost.
func (d *disk) cut() {
	d.Helper()
	const shutdown, noLogFlush = 0x8004587d, 2 // FS_IOC_SHUTDOWN, FS_SHUTDOWN_FLAGS_NOLOGFLUSH
	f, err := os.Open(d.point(0))
	if err != nil {
		d.Fatal(err)
	}
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), shutdown, noLogFlush); err != nil {
		d.Fatalf("shutdown of %s: %v", d.volumes[0].fs, err)
	}
}

// restart mounts the volumes again after a cut. No file in them may be open.
func (d *disk) restart() {
	d.Helper()
	if d.remount() == nil {
		return
	}
	// A mount namespace of another program may keep the file system mounted, in its
	// shut-down state. A copy of the image is a new file system to the kernel.
	for i := len(d.volumes) - 1; i >= 0; i-- {
		d.unmount(i)
	}
	err := d.run("cp", "--sparse=always", d.image(0), d.image(0)+".copy")
	if err == nil {
		err = os.Rename(d.image(0)+".copy", d.image(0))
	}
	if err != nil {
		d.Fatal(err)
	}
	if err := d.remount(); err != nil {
		d.Fatalf("after the restart: %v", err)
	}
}

// remount mounts a volume; it fails while the old one is still shut down.
func (d *disk) remount() error {
	d.Helper()
	for i := len(d.volumes) - 1; i >= 0; i-- {
		d.unmount(i)
	}
	for i := range d.volumes {
		if err := d.mount(i); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(d.root(), "restarted"), nil, 0o600)
}

// unmount retries: a process that another test is starting inherits our open files
// until its exec. A mount namespace of another program may keep a volume in use for ever:
// then it is detached, and restart mounts a copy of the image.
func (d *disk) unmount(i int) {
	d.Helper()
	for deadline := time.Now().Add(e2e.Patience); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Unmount(d.point(i), 0)
		if err == nil || errors.Is(err, unix.EINVAL) { // it was not mounted
			return
		}
		if time.Now().After(deadline) {
			err = unix.Unmount(d.point(i), unix.MNT_DETACH)
		}
		if err != nil && !errors.Is(err, unix.EBUSY) {
			d.Fatalf("umount %s: %v", d.point(i), err)
		}
	}
}

// TestPowerCutLosesOnlyUnsyncedData checks the simulation: after a cut, a file that
// was renamed without fsync is lost or empty.
func TestPowerCutLosesOnlyUnsyncedData(t *testing.T) {
	t.Parallel()
	onEachMachine(t, func(t *testing.T, d *disk) {
		for _, name := range []string{"synced", "unsynced"} {
			if err := writeAndRename(filepath.Join(d.root(), name), name == "synced"); err != nil {
				t.Fatal(err)
			}
		}
		d.cut()
		if err := writeAndRename(filepath.Join(d.root(), "late"), true); err == nil {
			t.Error("a write after the cut succeeded")
		}
		d.restart()
		for name, want := range map[string]bool{"synced": true, "unsynced": false, "late": false} {
			data, err := os.ReadFile(filepath.Join(d.root(), name))
			if whole := err == nil && string(data) == filler; whole != want {
				t.Errorf("%s: %d bytes, %v; whole %v, want %v", name, len(data), err, whole, want)
			}
		}
	})
}

var filler = strings.Repeat("reference data\n", 10_000)

// writeAndRename replaces a file as syncd does, with or without the fsyncs.
func writeAndRename(path string, sync bool) error {
	temp := path + ".tmp"
	f, err := os.Create(temp)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString(filler); err != nil {
		return err
	}
	if sync {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := os.Rename(temp, path); err != nil || !sync {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// TestPowerCuts cuts the power at random moments. current must stay complete, reported
// syncs must survive, and the next sync must continue.
func TestPowerCuts(t *testing.T) {
	t.Parallel()
	onEachMachine(t, func(t *testing.T, d *disk) {
		o := newOutage(t, d)
		for range e2e.Times(2, 100) {
			if err := o.round(); err != nil {
				t.Fatalf("%v\n%s", err, o.story)
			}
		}
		e2e.Reliability(t, "power cuts on "+d.fs(), o.tally.String(), o.tally.all())
	})
}

// TestPowerCutsOfExportsOnAnotherDisk has exports whose files are copies, on a disk that
// loses its power in the same moment.
func TestPowerCutsOfExportsOnAnotherDisk(t *testing.T) {
	t.Parallel()
	onEachMachine(t, func(t *testing.T, d *disk) {
		o := newOutage(t, d, newDisk(t, d.volumes))
		for range e2e.Times(2, 50) {
			if err := o.round(); err != nil {
				t.Fatalf("%v\n%s", err, o.story)
			}
		}
		e2e.Reliability(t, "power cuts of exports on another disk, "+d.fs(), o.tally.String(), o.tally.all())
	})
}

// TestPowerCutsOfManySmallFiles tests files that one syncfs makes durable together.
func TestPowerCutsOfManySmallFiles(t *testing.T) {
	t.Parallel()
	onMachines(t, machines[:e2e.Times(1, len(machines))], func(t *testing.T, d *disk) {
		o := newOutage(t, d)
		o.small = 600 // half of them are new in each release
		for range e2e.Times(2, 50) {
			if err := o.round(); err != nil {
				t.Fatalf("%v\n%s", err, o.story)
			}
		}
		e2e.Reliability(t, "power cuts of many small files on "+d.fs(), o.tally.String(), o.tally.all())
	})
}

// TestWithoutFsyncPowerCutsAreNoticed shows that TestPowerCuts can fail: a syncd that
// leaves out every fsync loses data.
func TestWithoutFsyncPowerCutsAreNoticed(t *testing.T) {
	t.Parallel()
	onEachMachine(t, func(t *testing.T, d *disk) {
		o := newOutage(t, d)
		o.Environ = append(o.Environ, "SYNCD_STEP_NOFSYNC=1")
		o.settle()
		for range e2e.Times(20, 100) {
			if err := o.round(); err != nil {
				t.Logf("RELIABILITY power cuts on %s, without fsync to prove the test: %s: %d times, lost 1: %v", d.fs(), o.tally, o.tally.all(), err)
				return
			}
		}
		t.Errorf("a syncd that never syncs went unnoticed: %s", o.tally)
	})
}

// outage is a host on a disk with repeated power cuts, and the results that syncd has
// reported.
type outage struct {
	*e2e.Host
	disks     []*disk // with the data directory, and with the exports
	random    *rand.Rand
	number    int                 // of the release that the provider publishes
	srv       string              // holds two exports: v of all manifests, and w of m in changing layouts
	small     int                 // files of a few bytes beside the others
	files     []emulator.File     // of that release
	digests   map[string][]string // of each release, sorted
	promised  promise
	moments   []int         // still to come of four
	usual     time.Duration // that a sync takes
	tally     tally
	story     string // of the last cut, for a failure
	manifests []string
	receiver  *e2e.Receiver // of a hook
}

// promise is the result of a sync with exit code 0.
type promise struct {
	generation int
	release    string
}

// tally counts the states that the cuts of a test met.
type tally struct{ during, publishing, after, reported, advanced, hung int }

func (t tally) all() int { return t.during + t.publishing + t.after }

func (t tally) String() string {
	return fmt.Sprintf("%d cuts during a sync, %d while it published and %d right after: %d had reported success, %d of the others were in service all the same, %d were killed",
		t.during, t.publishing, t.after, t.reported, t.advanced, t.hung)
}

// newOutage has its data directory on the first disk and its exports on the last.
func newOutage(t *testing.T, disks ...*disk) *outage {
	t.Helper()
	names := []string{"m", "n"}
	o := &outage{
		Host: e2e.NewHost(t, names...), disks: disks, random: e2e.NewRandom(t),
		digests: map[string][]string{}, usual: time.Second / 2, manifests: names,
	}
	o.receiver = e2e.NewReceiver(o.Host)
	o.receiver.Up()
	o.Data = filepath.Join(disks[0].root(), "data")
	o.srv = filepath.Join(disks[len(disks)-1].root(), "srv")
	o.vary()
	return o
}

// vary chooses one of the two ways to write large files, and the layouts of the views.
// Nothing is retained, so that premature pruning loses data.
func (o *outage) vary() {
	cache := []string{"bypass", "keep"}[o.random.IntN(2)]
	layout := []string{"native", "flat", "provider"}[o.random.IntN(3)]
	o.Settings.More = fmt.Sprintf("retain: 0\nretain_for: 0s\ntransfers: {cache: %s}\nviews:\n  - {name: v, hash_files: %v, export: %s}\n  - {name: w, manifests: [m], layout: %s, export: %s}\n%s",
		cache, o.random.IntN(2) == 0, filepath.Join(o.srv, "v"), layout, filepath.Join(o.srv, "w"), e2e.HookText(o.receiver, "activated"))
	o.Configure()
}

// round publishes a release or changes layouts only, syncs it, cuts the power and checks
// the result. An error is a broken promise.
func (o *outage) round() error {
	o.Helper()
	o.vary()
	if o.number == 0 || o.random.IntN(3) > 0 {
		o.publish()
	}
	if err := o.syncUntilCut(); err != nil {
		return err
	}
	before := o.promised
	for _, d := range o.disks {
		d.restart()
	}
	served, err := o.served()
	if err != nil {
		return fmt.Errorf("after the cut: %w", err)
	}
	if served.generation > before.generation {
		o.tally.advanced++
	}
	r := o.Syncd("sync", "--json")
	if r.Code != 0 {
		return fmt.Errorf("the sync after the cut: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if err = o.keep(r.Stdout); err == nil {
		_, err = o.served()
	}
	if err == nil {
		err = o.told()
	}
	if err != nil {
		return fmt.Errorf("the sync after the cut: %w\n%s", err, r.Stdout)
	}
	return nil
}

// told requires that the hook was told about the newest release of each manifest.
func (o *outage) told() error {
	for _, name := range o.manifests {
		if !o.receiver.Has(name, o.release()) {
			return fmt.Errorf("the hook was not told about release %s of %s, only %q", o.release(), name, o.receiver.Events())
		}
	}
	return nil
}

// settle publishes a first release and makes it durable, so that the test notices the
// loss of an update.
func (o *outage) settle() {
	o.Helper()
	o.publish()
	o.Must(o.keep(o.Expect(0, "sync", "--json").Stdout))
	for _, d := range o.disks {
		o.Must(d.run("sync", "-f", d.root()))
	}
}

func (o *outage) release() string { return fmt.Sprintf("%04d.%02d", 2000+o.number/12, o.number%12+1) }

// publish makes the provider publish the next release: many small files and a
// few large ones, half of them changed.
func (o *outage) publish() {
	o.number++
	if o.files == nil {
		for i := range 16 {
			o.files = append(o.files, emulator.File{Name: fmt.Sprintf("file%02d.dat", i)})
		}
		o.files = append(o.files, emulator.File{Class: emulator.ClassLibrary, OS: "LINUX", Compiler: "GCC48", Architecture: "64BIT", Name: "libfile.so"})
		for i := range o.small {
			o.files = append(o.files, emulator.File{Name: fmt.Sprintf("small%03d.dat", i)})
		}
	}
	digests := []string{}
	for i := range o.files {
		limit := int64(20_000)
		switch {
		case i >= len(o.files)-o.small:
			limit = 200
		case i%5 == 0:
			limit = 3 << 20
		}
		if o.files[i].Content == nil || o.random.IntN(2) == 0 {
			least := limit / 8 // so that no file shrinks beyond guards.max_file_shrink
			o.files[i].Content = emulator.Random(o.random.Uint64(), least+o.random.Int64N(limit))
			o.files[i].Release = o.release()
		}
		r, err := o.files[i].Content.Open()
		o.Must(err)
		digests = append(digests, o.Digest(r))
	}
	slices.Sort(digests)
	o.digests[o.release()] = digests
	for _, name := range o.manifests {
		o.Provider.SetManifest(name, o.release(), o.files...)
	}
}

// syncUntilCut starts a sync and cuts the power: in half of the rounds right after its
// end, in the others during it. Four rounds cover every kind of moment.
func (o *outage) syncUntilCut() error {
	o.Helper()
	started, generations := time.Now(), o.generations()
	p := o.Start("sync", "--json")
	var moment string
	if len(o.moments) == 0 {
		o.moments = o.random.Perm(4)
	}
	next := o.moments[0]
	o.moments = o.moments[1:]
	switch next {
	case 0:
		o.tally.during++
		moment = o.pause(p, o.usual) + " after the start"
	case 1:
		o.tally.publishing++
		for o.generations() == generations && o.pause(p, 200*time.Microsecond) != ended {
		}
		moment = o.pause(p, publishing) + " after the first change of generations"
	default:
		o.tally.after++
		moment = "after the end"
		if code := p.Wait(); code != 0 {
			o.Fatalf("syncd sync: exit %d\n%s", code, p.Stderr)
		}
		o.usual = time.Since(started)
	}
	others := o.random.IntN(2) == 0
	for _, d := range o.disks {
		if others {
			d.commitOthers()
		}
	}
	for _, d := range o.disks {
		d.cut()
	}
	o.end(p)
	code := p.Cmd.ProcessState.ExitCode()
	o.story = fmt.Sprintf("release %s, %s, cut %s, after another's fsync: %v; the sync: exit %d\n%s%s", o.release(), o.Settings.More, moment, others, code, p.Stdout, p.Stderr)
	if code == 0 { // exit code 0 is a promise, however late it was printed
		o.tally.reported++
		return o.keep(p.Stdout.String())
	}
	return nil
}

const (
	publishing = 20 * time.Millisecond // about the time of swap, commit and pruning
	ended      = "(ended)"
)

// pause waits for a random part of limit, or until the process ends.
func (o *outage) pause(p *e2e.Process, limit time.Duration) string {
	moment := time.Duration(o.random.Int64N(int64(limit)))
	select {
	case <-p.Done:
		return ended
	case <-time.After(moment): // at any moment
		return moment.String()
	}
}

// generations are the names of all generations, unfinished ones too.
func (o *outage) generations() string {
	entries, _ := os.ReadDir(filepath.Join(o.Data, "generations"))
	return fmt.Sprint(entries)
}

// end waits for a sync whose disk is gone. Its exit code does not matter.
func (o *outage) end(p *e2e.Process) {
	select {
	case <-p.Done:
		return
	case <-time.After(5 * time.Second):
	}
	o.tally.hung++
	_ = p.Cmd.Process.Kill() // fails when it has just ended
	p.Wait()
}

// keep records the output of a successful sync, which must name the newest release.
func (o *outage) keep(stdout string) error {
	var r e2e.SyncOutput
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		return fmt.Errorf("sync --json printed %q: %w", stdout, err)
	}
	for _, m := range r.Manifests {
		if m.Release != o.release() {
			return fmt.Errorf("a sync reports %s of %s, want %s", m.Release, m.Name, o.release())
		}
	}
	o.promised = promise{r.Generation, o.release()}
	return nil
}

// served reads current like a consumer and checks it against the promises and the
// published files. Before the first promise, current may be missing.
func (o *outage) served() (found promise, err error) {
	target, err := os.Readlink(filepath.Join(o.Data, "current"))
	if errors.Is(err, os.ErrNotExist) && o.promised.generation == 0 {
		return found, nil
	}
	if err != nil {
		return found, err
	}
	if _, err := fmt.Sscanf(target, "generations/%d", &found.generation); err != nil {
		return found, fmt.Errorf("current names %s: %w", target, err)
	}
	if found.generation < o.promised.generation {
		return found, fmt.Errorf("generation %d is served, but %d was reported", found.generation, o.promised.generation)
	}
	for _, name := range o.manifests {
		if found.release, err = o.servedRelease(filepath.Join(o.Data, target), name); err != nil {
			return found, fmt.Errorf("generation %d: %w", found.generation, err)
		}
		if found.release < o.promised.release {
			return found, fmt.Errorf("release %s of %s is served, but %s was reported", found.release, name, o.promised.release)
		}
	}
	return found, o.exported()
}

// exported verifies the exported folders: each holds one release of all its manifests, not
// older than the promised one.
func (o *outage) exported() error {
	for export, folders := range map[string][]string{"v": {"v/m", "v/n"}, "w": {"w"}} {
		if _, err := os.Stat(filepath.Join(o.srv, export)); errors.Is(err, os.ErrNotExist) && o.promised.generation == 0 {
			continue
		}
		shown := ""
		for _, folder := range folders {
			release, err := o.releaseIn(filepath.Join(o.srv, folder))
			if err != nil {
				return fmt.Errorf("export: %w", err)
			}
			if shown != "" && release != shown || release < o.promised.release {
				return fmt.Errorf("export %s shows release %q beside %q; %s was reported", folder, release, shown, o.promised.release)
			}
			shown = release
		}
	}
	return nil
}

// releaseIn verifies a folder with the files of a release, and with all their hash files
// or none.
func (o *outage) releaseIn(folder string) (string, error) {
	digests, hashFiles := []string{}, 0
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		hashed, isHash := strings.CutSuffix(path, ".hash")
		if !isHash {
			digests = append(digests, o.Digest(bytes.NewReader(data)))
			return err
		}
		hashFiles++
		if content, readErr := os.ReadFile(hashed); readErr != nil || o.Digest(bytes.NewReader(content)) != string(data) {
			return fmt.Errorf("%s does not match its file: %w", path, readErr)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if hashFiles > 0 && hashFiles != len(digests) {
		return "", fmt.Errorf("%s has %d hash files for %d files", folder, hashFiles, len(digests))
	}
	slices.Sort(digests)
	for release, want := range o.digests {
		if slices.Equal(digests, want) {
			return release, nil
		}
	}
	return "", fmt.Errorf("%s shows %d files of no release", folder, len(digests))
}

// servedRelease verifies one manifest of a generation and returns its release.
func (o *outage) servedRelease(generation, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(generation, name+".json"))
	if err != nil {
		return "", err
	}
	var record struct{ Release string }
	if err := json.Unmarshal(text, &record); err != nil {
		return "", fmt.Errorf("%s.json: %w", name, err)
	}
	sums, err := os.ReadFile(filepath.Join(generation, name+".SHA256SUMS"))
	if err != nil {
		return "", err
	}
	digests := []string{}
	for scanner := bufio.NewScanner(bytes.NewReader(sums)); scanner.Scan(); {
		want, path, _ := strings.Cut(scanner.Text(), "  ")
		data, err := os.ReadFile(filepath.Join(generation, path))
		if err != nil {
			return "", err
		}
		if got := o.Digest(bytes.NewReader(data)); got != want {
			return "", fmt.Errorf("%s: %d bytes with digest %s, want %s", path, len(data), got, want)
		}
		digests = append(digests, want)
	}
	slices.Sort(digests)
	if !slices.Equal(digests, o.digests[record.Release]) {
		return "", fmt.Errorf("%s.SHA256SUMS lists %d files, not the %d of release %q", name, len(digests), len(o.digests[record.Release]), record.Release)
	}
	return record.Release, nil
}
