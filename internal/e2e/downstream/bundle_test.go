package downstream_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"syncd/internal/e2e"
	"syncd/internal/emulator"
	"syncd/internal/report"
)

// gap is a host that mirrors a provider, and one that only a disk reaches.
type gap struct {
	near, far *e2e.Host
	disk      string
}

func newGap(t *testing.T, manifests ...string) gap {
	t.Helper()
	near := e2e.NewHost(t, manifests...)
	far := e2e.NewHostOf(t, near.Provider, manifests...)
	far.Settings.URL = "http://127.0.0.1:1" // nothing answers there
	far.Configure()
	return gap{near, far, e2e.NewDir(t)}
}

// noise is a content of 3 MB that does not compress.
func noise(seed string) string {
	var b []byte
	for sum := sha256.Sum256([]byte(seed)); len(b) < 3_000_000; sum = sha256.Sum256(sum[:]) {
		b = append(b, sum[:]...)
	}
	return string(b)
}

// export syncs the near side and exports to a new file.
func (g gap) export(name string, args ...string) (files []string) {
	g.near.Helper()
	g.near.Sync(0)
	file := filepath.Join(g.disk, name)
	var done struct{ Files []string }
	g.near.Must(json.Unmarshal([]byte(g.near.Expect(0, append([]string{"bundle", "export", file, "--json"}, args...)...).Stdout), &done))
	return done.Files
}

// take imports an unsigned bundle.
func (g gap) take(code int, files []string, args ...string) (result report.Sync, errors string) {
	g.far.Helper()
	r := g.far.Expect(code, slices.Concat([]string{"bundle", "import", "--unsigned", "--json"}, args, files)...)
	if r.Stdout != "" {
		g.far.Must(json.Unmarshal([]byte(r.Stdout), &result))
	}
	return result, r.Stderr
}

func (g gap) serves(content string) {
	g.far.Helper()
	e2e.Same(g.far, "far side", content, g.far.ServedContent("one"))
}

func TestABundleCarriesAMirror(t *testing.T) {
	t.Parallel()
	g := newGap(t, "one", "two")
	g.near.Month("one", "2026.09", "first")
	g.near.Month("two", "2026.09", "other")
	files := g.export("a.tar")
	g.near.Contains("show", g.near.Expect(0, "bundle", "show", files[0]).Stdout, "unsigned", "one  release 2026.09", "2 contents")
	g.near.Contains("import without a key", g.far.Expect(1, "bundle", "import", files[0]).Stderr, "trust_file", "--unsigned")
	if result, _ := g.take(0, files, "--dry-run"); result.Changed || g.far.ServedContent("one") != "" {
		t.Error("a dry run published")
	}
	result, _ := g.take(0, files)
	e2e.Same(g.far, "generation", 1, result.Generation)
	g.serves("first")
	if again, _ := g.take(0, files); again.Changed {
		t.Error("the same bundle changed something")
	}
	g.far.Contains("history", g.far.Expect(0, "history").Stdout, "import")

	g.near.Month("one", "2026.10", "second")
	g.far.Expect(0, "bundle", "receipt", "-o", filepath.Join(g.disk, "receipt"))
	g.take(0, g.export("b.tar", "--since", filepath.Join(g.disk, "receipt")))
	g.serves("second")
	g.near.Contains("show", g.near.Expect(0, "bundle", "show", filepath.Join(g.disk, "b.tar")).Stdout, "1 contents", "receipt")
	g.far.Expect(0, "rollback")
	g.serves("first")
	if result, _ := g.take(0, []string{filepath.Join(g.disk, "b.tar")}); result.Changed {
		t.Error("the release that the operator went back from is live again")
	}
}

// Of what the far side has in an earlier form, a bundle has patches. Without a receipt, it has
// contents in compressed form.
func TestABundleHasPatches(t *testing.T) {
	t.Parallel()
	g := newGap(t, "one")
	publish := func(month int) {
		g.near.Provider.SetManifest("one", fmt.Sprintf("2026.%02d", month), emulator.File{Name: "one.dat", Content: emulator.Bytes(streets(month))}, emulator.File{Name: "noise.dat", Content: emulator.Random(1, 200_000)})
		g.near.Sync(0)
	}
	whole := int64(len(streets(9)) + 200_000)
	publish(9)
	files := g.export("a.tar")
	if info, err := os.Stat(files[0]); err != nil || info.Size() > whole*2/3 {
		t.Errorf("%d bytes of %d: %v", info.Size(), whole, err)
	}
	g.take(0, files)
	g.far.Expect(0, "bundle", "receipt", "-o", filepath.Join(g.disk, "receipt"))
	publish(10)
	files = g.export("b.tar", "--since", filepath.Join(g.disk, "receipt"))
	if info, err := os.Stat(files[0]); err != nil || info.Size() > whole/50 {
		t.Errorf("%d bytes of %d: %v", info.Size(), whole, err)
	}
	g.near.Contains("show", g.near.Expect(0, "bundle", "show", "--json", files[0]).Stdout, `"patches": 1`)
	g.take(0, files)
	if got := g.far.ServedContent("one"); got != string(streets(10)) {
		t.Errorf("the far side serves %d bytes of other content", len(got))
	}
	g.far.Expect(0, "verify")
	if left, _ := filepath.Glob(filepath.Join(g.disk, ".tmp-*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// The generation of a syncd says that packs are there, and a bundle has none: small contents
// come one by one.
func TestABundleWhoseGenerationClaimsPacksBringsItsContents(t *testing.T) {
	t.Parallel()
	g := newGap(t, "one")
	var files []emulator.File
	for i := range 40 {
		files = append(files, emulator.File{Name: fmt.Sprintf("%02d.dat", i), Content: emulator.Text(fmt.Sprint("small ", i))})
	}
	g.near.Provider.SetManifest("one", "2026.09", files...)
	volumes := g.export("a.tar")
	text, err := os.ReadFile(volumes[0])
	g.near.Must(err)
	if !strings.Contains(string(text), `"packs": 1`) {
		t.Fatal("the generation claims no packs")
	}
	result, errors := g.take(0, volumes)
	if m := result.Manifests[0]; m.FilesDownloaded != 40 || strings.Contains(errors, "pack") {
		t.Errorf("%+v, %s", m, errors)
	}
	g.far.Expect(0, "verify")
}

func TestSameDataGivesTheSameBundle(t *testing.T) {
	t.Parallel()
	g := newGap(t, "one")
	g.near.Month("one", "2026.09", noise("0123456789"))
	first, second := g.export("a.tar", "--volume", "1MiB"), g.export("b.tar", "--volume", "1MiB")
	if len(first) != 3 || len(second) != 3 {
		t.Fatalf("%v, %v", first, second)
	}
	for i := range first {
		a, err := os.ReadFile(first[i])
		g.near.Must(err)
		b, err := os.ReadFile(second[i])
		g.near.Must(err)
		if !bytes.Equal(a, b) {
			t.Errorf("%s and %s differ", first[i], second[i])
		}
	}
	piped := g.near.Command("bundle", "export", "-")
	out, err := piped.Output()
	g.near.Must(err)
	whole, err := os.ReadFile(g.export("c.tar")[0])
	g.near.Must(err)
	if !bytes.Equal(out, whole) {
		t.Error("standard output gets another bundle than a file")
	}
}

// What is wrong is told by name, and the far side stays as it is.
func TestBrokenBundlesAreRefusedByName(t *testing.T) {
	t.Parallel()
	g := newGap(t, "one")
	g.near.Month("one", "2026.08", "oldest")
	old := g.export("old.tar")
	g.near.Month("one", "2026.09", "first")
	g.take(0, g.export("first.tar"))
	g.near.Month("one", "2026.10", noise("0123456789"))
	good := g.export("good.tar", "--volume", "1MiB")
	other := g.export("other.tar", "--volume", "2MiB")
	spoil := func(name string, change func([]byte) []byte) string {
		data, err := os.ReadFile(good[1])
		g.near.Must(err)
		g.near.Must(os.WriteFile(filepath.Join(g.disk, name), change(data), 0o644))
		return filepath.Join(g.disk, name)
	}
	fifo := filepath.Join(g.disk, "fifo")
	g.near.Must(syscall.Mkfifo(fifo, 0o644))
	for row, bad := range map[string]struct {
		files []string
		want  string
	}{
		"flipped": {[]string{good[0], spoil("flipped.002", func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), good[2]}, "sha256"},
		"cut":     {[]string{good[0], spoil("cut.002", func(b []byte) []byte { return b[:len(b)-600] }), good[2]}, "cut.002: it was cut"},
		"missing": {[]string{good[0], good[2]}, "volume 2 of 3, such as " + good[1]},
		"swapped": {[]string{good[0], spoil("swapped.002", func([]byte) []byte { b, _ := os.ReadFile(good[2]); return b }), good[2]}, "it is volume 3 of 3"},
		"mixed":   {[]string{good[0], other[1], good[2]}, "another bundle"},
		"older":   {old, "is older than"},
		"fifo":    {[]string{fifo}, "fifo is not a regular file"},
		"folder":  {[]string{g.disk}, "is not a regular file"},
		"nothing": {[]string{filepath.Join(g.disk, "none")}, "no such file"},
	} {
		_, errors := g.take(1, bad.files)
		g.far.Contains(row, errors, bad.want)
		g.serves("first")
	}
	g.near.Expect(0, "bundle", "receipt", "-o", filepath.Join(g.disk, "of-near")) // and not of the far side
	result, _ := g.take(1, g.export("lacks.tar", "--since", filepath.Join(g.disk, "of-near")))
	g.far.Contains("receipt of another host", result.Manifests[0].Error, "export again with a receipt of this host")
	g.serves("first")
	slices.Reverse(good)
	g.take(0, good)
	g.serves(noise("0123456789"))
}

func TestARunningDaemonTakesABundle(t *testing.T) {
	t.Parallel()
	g := newGap(t, "one")
	g.near.Month("one", "2026.09", "first")
	files := g.export("a.tar")
	daemon := g.far.Daemon()
	g.take(0, files)
	g.serves("first")
	daemon.Terminate()
	// The other way round: the daemon of the near side tells what is live.
	daemon = g.near.Daemon()
	g.near.Month("one", "2026.10", "second")
	g.take(0, g.export("b.tar"))
	g.serves("second")
	daemon.Terminate()
}

func TestAnExportToAnotherBundlesVolumesIsRefused(t *testing.T) {
	t.Parallel()
	g := newGap(t, "one")
	g.near.Month("one", "2026.09", noise("a"))
	files := g.export("a.tar", "--volume", "1MiB")
	g.export("a.tar", "--volume", "1MiB") // the same again
	g.near.Month("one", "2026.10", noise("b"))
	g.near.Sync(0)
	g.near.Contains("export", g.near.Expect(2, "bundle", "export", filepath.Join(g.disk, "a.tar"), "--volume", "1MiB").Stderr, files[0], "is there already")
	for _, args := range [][]string{{"-", "--volume", "1MiB"}, {"x", "--volume", "1KiB"}, {"x", "--volume", "much"}, {"x", "missing"}, {"x", "--since", files[0]}} {
		g.near.Expect(2, append([]string{"bundle", "export"}, args...)...)
	}
}

// A disk of a stranger must not make the far side write outside of its folders; the test of
// package bundle has more of them.
func TestATarOfAStrangerIsNoBundle(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tar"); err != nil {
		t.Skip("needs tar")
	}
	g := newGap(t, "one")
	g.near.Provider.SetManifest("one", "2026.09", emulator.File{Name: "one.dat", Content: emulator.Text("x")})
	g.near.Must(os.Symlink("/etc/passwd", filepath.Join(g.disk, "current.json")))
	g.near.Must(exec.CommandContext(t.Context(), "tar", "-C", g.disk, "-cf", filepath.Join(g.disk, "x.tar"), "current.json").Run())
	_, errors := g.take(1, []string{filepath.Join(g.disk, "x.tar")})
	g.far.Contains("import", errors, "x.tar: not a bundle of syncd")
}

// watching is a gap whose far side takes what appears in a folder.
func watching(t *testing.T) (g gap, inbox string) {
	t.Helper()
	g, inbox = newGap(t, "one"), e2e.NewDir(t)
	g.far.Settings.Bucket = "bundles: " + inbox
	g.far.Configure()
	return g, inbox
}

// copyTo copies files into a folder, in the order in which they are named.
func copyTo(h *e2e.Host, folder string, files ...string) {
	h.Helper()
	for _, file := range files {
		data, err := os.ReadFile(file)
		h.Must(err)
		h.Must(os.WriteFile(filepath.Join(folder, filepath.Base(file)), data, 0o644))
	}
}

func TestABundleThatAppearsIsTaken(t *testing.T) {
	t.Parallel()
	g, inbox := watching(t)
	g.near.Month("one", "2026.09", noise("0123456789"))
	first := g.export("a.tar", "--volume", "1MiB")
	g.near.Month("one", "2026.10", noise("abcdefghij"))
	second := g.export("b.tar", "--volume", "1MiB")
	half, err := os.ReadFile(second[2])
	g.near.Must(err)
	copyTo(g.far, inbox, first...)
	g.far.Must(os.WriteFile(filepath.Join(inbox, "notes.txt"), []byte("no bundle"), 0o644))
	g.far.Must(syscall.Mkfifo(filepath.Join(inbox, "fifo"), 0o644))
	g.far.Must(os.WriteFile(filepath.Join(inbox, "half.003"), half[:len(half)-1000], 0o644))
	daemon := g.far.Daemon()
	taken := func(content string) func() bool {
		return func() bool { return g.far.ServedContent("one") == noise(content) }
	}
	g.far.Eventually("first", taken("0123456789"))
	copyTo(g.far, inbox, second[1], second[0]) // the third is only half there
	g.far.Contains("status", g.far.Expect(0, "status").Stdout, "2026.09")
	copyTo(g.far, inbox, second[2])
	g.far.Eventually("second", taken("abcdefghij"))
	e2e.Same(g.far, "folder", 3+len(first)+len(second), len(e2e.NamesIn(g.far, inbox)))

	// The disk is gone: that is no failure.
	g.far.Must(os.RemoveAll(inbox))
	if result := g.far.Sync(0); result.Manifests[0].Result != "unchanged" {
		t.Errorf("%+v", result.Manifests)
	}
	daemon.Terminate()
}

func TestAFolderWithoutAUsableBundleChangesNothing(t *testing.T) {
	t.Parallel()
	g, inbox := watching(t)
	result := g.far.Sync(1)
	g.far.Contains("empty folder", result.Manifests[0].Error, "no whole bundle is in source.bundles yet")
	g.near.Month("one", "2026.08", "oldest")
	old := g.export("old.tar")
	g.near.Month("one", "2026.09", "first")
	copyTo(g.far, inbox, g.export("first.tar")...)
	g.far.Sync(0)
	g.serves("first")
	g.far.Must(os.Remove(filepath.Join(inbox, "first.tar")))
	copyTo(g.far, inbox, old...)
	result = g.far.Sync(1)
	e2e.Same(g.far, "reason", "upstream_rollback", result.Manifests[0].Reason)
	g.near.Month("one", "2026.10", "second")
	bad := g.export("bad.tar")
	data, err := os.ReadFile(bad[0])
	g.far.Must(err)
	data[len(data)-1030]++ // in the padding of the last content
	g.far.Must(os.WriteFile(filepath.Join(inbox, "bad.tar"), data, 0o644))
	result = g.far.Sync(1)
	g.far.Contains("flipped byte", result.Manifests[0].Error, "bad.tar", "bytes behind its end")
	g.serves("first")
	g.far.Expect(2, "manifests") // a folder answers no questions
	g.far.Contains("doctor", g.far.Syncd("doctor").Stdout, "no network is needed")
	copyTo(g.far, inbox, bad...)
	g.far.Sync(0)
	g.serves("second")
}

// signs gives a host a key and a trust text of an origin with this key, and has it sign.
func signs(h *e2e.Host, origin string) {
	h.Helper()
	key := strings.TrimSpace(h.Expect(0, "trust", "keygen", "alice", "-o", h.Path("key")).Stdout)
	h.Expect(0, "trust", "init", "--origin", origin, key, "-o", h.Path("trust"))
	h.ConfigureWith("sign: {key_file: " + h.Path("key") + ", trust_file: " + h.Path("trust") + "}")
}

// Publishers collect signatures in a bucket. A disk carries that of one alone.
func TestAnExportSaysThatTooFewKeysSigned(t *testing.T) {
	t.Parallel()
	h := e2e.NewHost(t, "one")
	h.Month("one", "2026.09", "first")
	signs(h, "mirror.example.net")
	h.Sync(0)
	e2e.Same(h, "warning", "", h.Expect(0, "bundle", "export", h.Path("one.tar")).Stderr)
	other := strings.TrimSpace(h.Expect(0, "trust", "keygen", "bob", "-o", h.Path("other")).Stdout)
	h.Expect(0, "trust", "add", other, "--threshold", "2", "--trust", h.Path("trust"), "--key", h.Path("key"), "--key", h.Path("other"))
	h.Contains("warning", h.Expect(0, "bundle", "export", h.Path("two.tar")).Stderr, "hosts with the trust file ask for 2 keys and refuse the bundle")
	h.Settings.More += "\nserve: {listen: \"127.0.0.1:1\", public_url: \"http://127.0.0.1:1\"}"
	h.Configure()
	h.Contains("doctor", h.Syncd("doctor").Stdout, "sign.trust_file asks for 2 keys")
}

func TestABundleIsBelievedBecauseOfItsKey(t *testing.T) {
	t.Parallel()
	g := newGap(t, "one")
	g.near.Month("one", "2026.08", "unsigned")
	unsigned := g.export("unsigned.tar")
	signs(g.near, "mirror.example.net")
	g.near.Month("one", "2026.09", "first")
	first := g.export("first.tar")
	g.far.Contains("show", g.far.Expect(0, "bundle", "show", first[0]).Stdout, "signed for mirror.example.net")
	trust, err := os.ReadFile(g.near.Path("trust"))
	g.near.Must(err)
	g.far.Write("trusted", string(trust), 0o644)
	g.far.Settings.Source = "trust_file: trusted"
	g.far.Configure()

	take := func(code int, files []string, want string) {
		t.Helper()
		r := g.far.Expect(code, append([]string{"bundle", "import", "--json"}, files...)...)
		g.far.Contains("import", r.Stdout+r.Stderr, want)
	}
	take(1, unsigned, `"reason": "unsigned"`)
	g.far.Contains("import", g.far.Expect(1, append([]string{"bundle", "import", "--unsigned"}, first...)...).Stderr, "--unsigned is not for a host with source.trust_file")
	e2e.Same(g.far, "served", "", g.far.ServedContent("one"))
	take(0, first, `"result": "updated"`)
	g.serves("first")

	other := e2e.NewHostOf(t, g.near.Provider, "one")
	signs(other, "stranger.example.net")
	other.Sync(0)
	stranger := filepath.Join(g.disk, "stranger.tar")
	other.Expect(0, "bundle", "export", stranger)
	take(1, []string{stranger}, `"reason": "wrong_origin"`)
	signed := e2e.NewHostOf(t, g.near.Provider, "one")
	signs(signed, "mirror.example.net") // with a key of its own
	signed.Sync(0)
	forged := filepath.Join(g.disk, "forged.tar")
	signed.Expect(0, "bundle", "export", forged)
	take(1, []string{forged}, `"result": "refused"`)
	g.serves("first")

	// The key is another one, and the far side finds its way.
	g.near.Month("one", "2026.10", "second")
	next := strings.TrimSpace(g.near.Expect(0, "trust", "keygen", "bob", "-o", g.near.Path("next")).Stdout)
	g.near.Expect(0, "trust", "add", next, "--trust", g.near.Path("trust"), "--key", g.near.Path("key"))
	g.near.Expect(0, "trust", "remove", "alice", "--trust", g.near.Path("trust"), "--key", g.near.Path("key"), "--key", g.near.Path("next"))
	g.near.ConfigureWith("sign: {key_file: " + g.near.Path("next") + ", trust_file: " + g.near.Path("trust") + "}")
	second := g.export("second.tar")
	take(0, second, `"result": "updated"`)
	g.serves("second")
	take(1, first, `"reason": "unsigned"`) // by a key that was removed
	g.near.Month("one", "2026.11", "third")
	take(0, g.export("third.tar"), `"result": "updated"`)
	take(1, second, `"reason": "upstream_rollback"`)
	take(1, append([]string{"--force"}, second...), `"reason": "upstream_rollback"`)
	g.serves("third")
	g.far.Contains("history", g.far.Expect(0, "history").Stdout, "refused")
}
