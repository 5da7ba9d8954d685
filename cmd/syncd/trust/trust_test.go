package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/cmd/syncd/cli"
	"syncd/internal/downstream/trust"
)

// desk is a folder with keys, in which `syncd trust` runs.
type desk struct {
	t   *testing.T
	dir string
}

func (d desk) path(name string) string { return filepath.Join(d.dir, name) }

// run runs `syncd trust` and returns its output. Words with an @ are names of files.
func (d desk) run(args ...string) (string, error) {
	d.t.Helper()
	var out bytes.Buffer
	a := cli.New(cli.Options{Getenv: func(string) string { return "" }, Stdout: &out, Stderr: &out})
	cmd := Command(a)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	for i, arg := range args {
		if name, isFile := strings.CutPrefix(arg, "@"); isFile {
			args[i] = d.path(name)
		}
	}
	cmd.SetArgs(args)
	err := cmd.Execute()
	return strings.ReplaceAll(out.String(), d.dir+"/", ""), err
}

func (d desk) must(args ...string) string {
	d.t.Helper()
	out, err := d.run(args...)
	if err != nil {
		d.t.Fatalf("trust %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(out)
}

// refused runs a command that must fail and say why.
func (d desk) refused(want string, args ...string) {
	d.t.Helper()
	out, err := d.run(args...)
	if err == nil || !strings.Contains(err.Error()+out, want) {
		d.t.Errorf("trust %s: got %v, want %q", strings.Join(args, " "), err, want)
	}
}

// key makes a key pair and returns the public key.
func (d desk) key(name string) string { return d.must("keygen", name, "-o", "@"+name) }

func TestACeremonyOnTwoHosts(t *testing.T) {
	d := desk{t, t.TempDir()}
	alice, bob, carol := d.key("alice"), d.key("bob"), d.key("carol")
	fingerprint := d.must("init", "--origin", "mirror.example.net", "--threshold", "2", "-o", "@trust", alice, bob)
	text, err := os.ReadFile(d.path("trust"))
	if err != nil || fmt.Sprintf("%x", sha256.Sum256(text)) != fingerprint {
		t.Errorf("fingerprint %s is not the digest of the file: %v", fingerprint, err)
	}

	if got, want := d.must("add", carol, "--trust", "@trust", "--key", "@alice"),
		"version 2 waits in trust.next: it lacks 1 by the keys of version 1 (bob) and 1 by the keys of version 2 (bob, carol)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	d.refused("is another change than this one", "add", "--expires", "2040-01-01", "--trust", "@trust", "--key", "@bob")
	if got := d.must("add", carol, "--trust", "@trust", "--key", "@bob"); got != "version 2 is in trust" {
		t.Error(got)
	}
	if _, err := os.Stat(d.path("trust.next")); !os.IsNotExist(err) {
		t.Errorf("the version that waited is still there: %v", err)
	}
	d.must("remove", "alice", "--trust", "@trust", "--key", "@bob", "--key", "@carol")

	var got shown
	if err := json.Unmarshal([]byte(d.must("show", "--json", "@trust")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Fingerprint != fingerprint || got.Version != 3 || fmt.Sprint(names3(got)) != "[[] [alice bob] [bob carol]]" {
		t.Errorf("got %+v", got)
	}
	if text := d.must("show", "@trust"); !strings.Contains(text, "version      3, until ") || !strings.Contains(text, carol) {
		t.Error(text)
	}
}

func names3(s shown) (signers [][]string) {
	for _, v := range s.Versions {
		signers = append(signers, v.SignedBy)
	}
	return signers
}

func TestVerifyChecksSignaturesAndFiles(t *testing.T) {
	d := desk{t, t.TempDir()}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(d.path(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	digest := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	d.must("init", "--origin", "syncd", "-o", "@trust", d.key("release"))
	write("one", "1")
	write("two", "2")
	list := digest("1") + "  one\n" + digest("2") + " *two\n" + digest("3") + "  three\n"
	write("SHA256SUMS", list)

	verify := []string{"verify", "@SHA256SUMS", "--trust", "@trust"}
	d.refused("too few signatures", verify...)
	d.must("sign", "@SHA256SUMS", "--key", "@release")
	if got := d.must(verify...); got != "SHA256SUMS: signed by release\none: right\ntwo: right\n2 right, 0 wrong, 1 not here" {
		t.Error(got)
	}
	write("two", "3")
	out, err := d.run(verify...)
	if !errors.Is(err, cli.ErrPrinted) || !strings.Contains(out, "two: WRONG: its digest is not "+digest("2")) {
		t.Errorf("got %q, %v", out, err)
	}
	signed, _ := os.ReadFile(d.path("SHA256SUMS"))
	for _, name := range []string{"one", "two"} {
		if err := os.Remove(d.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	d.refused("none of the files that it lists lies beside it", verify...)
	write("SHA256SUMS", strings.Replace(string(signed), digest("2"), digest("3"), 1))
	d.refused("a signature is wrong", verify...)

	write("SHA256SUMS", list)
	d.key("stranger")
	d.must("sign", "@SHA256SUMS", "--key", "@stranger")
	d.refused("too few signatures", verify...)
	write("SHA256SUMS", digest("1")+"  ../one\n")
	d.must("sign", "@SHA256SUMS", "--key", "@release")
	if got := d.must(verify...); got != "SHA256SUMS: signed by release" {
		t.Errorf("a path outside of the folder was read: %s", got)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	d := desk{t, t.TempDir()}
	alice := d.key("alice")
	d.must("init", "--origin", "o", "-o", "@trust", alice)
	d.refused("exists already", "keygen", "alice", "-o", "@alice")
	d.refused("exists already", "init", "--origin", "o", "-o", "@trust", alice)
	d.refused("--output is missing", "keygen", "bob")
	d.refused("use a word", "keygen", "two words", "-o", "@bob")
	d.refused("--origin and --output", "init", "-o", "@new", alice)
	d.refused("threshold 2 of 1 keys", "init", "--origin", "o", "--threshold", "2", "-o", "@new", alice)
	secret, _ := os.ReadFile(d.path("alice"))
	d.refused("this is a private key", "init", "--origin", "o", "-o", "@new", strings.TrimSpace(string(secret)))
	d.refused("not a private key", "add", "--threshold", "1", "--trust", "@trust", "--key", "@trust")
	d.refused("nothing changes", "add", "--trust", "@trust", "--key", "@alice")
	d.refused("has no key", "remove", "bob", "--trust", "@trust", "--key", "@alice")
	d.refused("0 keys", "remove", "alice", "--trust", "@trust", "--key", "@alice")
	d.refused("--trust is missing", "verify", "@trust")
	d.refused("is not a time", "add", "--expires", "soon", "--trust", "@trust", "--key", "@alice")
	d.must("add", "--expires", "2020-01-01", "--trust", "@trust", "--key", "@alice")
	d.refused("ended on 2020-01-01", "verify", "@trust", "--trust", "@trust")
	if info, err := os.Stat(d.path("alice")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the private key has the mode %v: %v", info.Mode(), err)
	}
	if err := os.Chmod(d.path("alice"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := d.must("add", "--expires", "2040-01-01", "--trust", "@trust", "--key", "@alice"); !strings.Contains(got, "chmod 600") {
		t.Errorf("a key that others can read brings no warning: %s", got)
	}
}

// The text that SECURITY.md prints can be used as it stands, with the fingerprint beside it.
func TestTrustTextOfTheReleases(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```text\n")
	text, _, found := strings.Cut(block, "```\n")
	chain, err := trust.ParseChain([]byte(text))
	if !found || err != nil {
		t.Fatal(err)
	}
	if chain.Root().Origin != "syncd-releases" || !strings.Contains(string(page), "# "+chain.Root().Fingerprint()) {
		t.Errorf("origin %s, fingerprint %s", chain.Root().Origin, chain.Root().Fingerprint())
	}
}
