package migration

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"syncd/internal/config"
	"syncd/internal/config/migration/commandline"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const licence = "K3YofTheHost"

// usable are the map files that exist.
func usable(path string) bool { return strings.HasPrefix(path, "/opt/updater/maps/") }

// convert reads one text on a host without scripts.
func convert(text []byte) ([]byte, error) {
	return Convert([]commandline.Text{{Data: text}}, Host{UsableMap: usable})
}

// loads checks that syncd accepts a configuration.
func loads(t *testing.T, text []byte) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "syncd.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path, config.Environment{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c
}

// converted checks that a configuration is that of a golden file, loads, and does not show
// the licence.
func converted(t *testing.T, got []byte, golden string) {
	t.Helper()
	if strings.Contains(strings.ToLower(string(got)), strings.ToLower(licence)) {
		t.Errorf("shows the licence:\n%s", got)
	}
	loads(t, got)
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestCommandLinesBecomeTheConfigurationThatDoesTheSame(t *testing.T) {
	paths, err := filepath.Glob("testdata/lines/*.txt")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d texts, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := convert(text)
			if err != nil {
				t.Fatal(err)
			}
			converted(t, got, strings.TrimSuffix(path, ".txt")+".yaml")
		})
	}
}

func TestATextWithoutADownloadIsRefused(t *testing.T) {
	const none = "no command line of the updater that downloads something: expected `manifest -p NAME`, `product -p NAME` or `file -n NAME`"
	for name, test := range map[string]struct{ text, want string }{
		"empty":           {"", none},
		"other commands":  {"0 3 * * * rm file -f; mkdir product; git verify -p\n", none},
		"only verify":     {"/opt/updater/Updater verify -p /srv/x\n", none},
		"only a map":      {"\n/opt/updater/Updater manifest -p x -g -t /srv/x\n", none + " (line 2 only writes a map, lists or plans)"},
		"a comment":       {"# /opt/updater/Updater manifest -p x -l " + licence + "\n", none},
		"not text":        {"\xffm\x00", "it is neither UTF-8 nor UTF-16 text: convert it first, such as with iconv"},
		"an open quote":   {"x\n/opt/updater/Updater manifest -p 'x -l " + licence + "\n", none + " (line 2 cannot be read as a command)"},
		"without product": {"/opt/updater/Updater manifest -l " + licence + "\n", none + "; line 1 is left out: the updater gets no manifest, product or file there"},
		"too large":       {strings.Repeat("#\n", commandline.MaxText), "the text is larger than 64 KiB: name the crontab or script itself"},
	} {
		_, err := convert([]byte(test.text))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

func TestHostileScriptsEndQuickly(t *testing.T) {
	const run = "\n/opt/updater/Updater manifest -p x -l " + licence + "\n"
	for name, text := range map[string]string{
		"recursion":    "f() { f; f; f; f; }; f" + run,
		"braces":       "echo {1..999999999} {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}" + run,
		"nested loops": strings.Repeat("for i in "+strings.Repeat("a ", 100)+"; do ", 20) + "x=1" + strings.Repeat("; done", 20) + run,
		"quotes":       "sh -c '" + strings.Repeat(`sh -c "manifest -p x `, 50) + "'" + run,
		"deep":         strings.Repeat("(", 1000) + "true" + strings.Repeat(")", 1000) + run,
		"blocks":       "@echo off\n" + strings.Repeat("(\n", 20_000) + run,
		"one block":    "@echo off\n" + strings.Repeat("(", 50_000) + run,
		"for in for":   "@echo off\n" + strings.Repeat("for %%a in ("+strings.Repeat("a ", 100)+") do (", 20) + "ver" + strings.Repeat(")", 20) + run,
		"ifs":          "@echo off\n" + strings.Repeat("if a==a ", 6_000) + run,
		"calls":        "@echo off\n:a\ncall :a\ncall :a\ncall :a\n" + run,
		"or":           "@echo off\n" + strings.Repeat("a||", 20_000) + run,
		"powershell":   "$a = 1\n" + strings.Repeat("{", 50_000) + run,
		"lists":        "$a = 'a','b'\n" + strings.Repeat("$a = $a,$a\n", 100) + strings.Repeat("foreach ($x in $a) {\n", 20) + run,
		"arrays":       "a=(a b)\n" + strings.Repeat("a+=(\"${a[@]}\")\n", 100) + strings.Repeat("for i in \"${a[@]}\"; do ", 10) + "true" + strings.Repeat("; done", 10) + run,
		"heredoc":      "while read x; do f; done <<E\n" + strings.Repeat("a\n", 20_000) + "E\n" + run,
		"xml":          "<Tasks>" + strings.Repeat("<Task>", 8_000) + run,
		"units":        "[Service]\n" + strings.Repeat("ExecStart=a $b\n", 3_000) + run,
		"yaml":         "services:\n" + strings.Repeat("  a: {command: b}\n", 2_000) + run,
		"deep yaml":    "services: \n" + strings.Repeat("- ", 5_000) + run,
		"growth":       "x=" + strings.Repeat("a", 1000) + "\n" + strings.Repeat("x=$x$x\n", 40) + run,
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := convert([]byte(text)); err == nil && strings.Contains(string(got), licence) {
				t.Error("shows the licence")
			}
		})
	}
}

// FuzzConvert checks that each text is converted to a configuration that loads, or refused,
// and that neither shows a licence.
func FuzzConvert(f *testing.F) {
	paths, _ := filepath.Glob("testdata/lines/*.txt")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		const hidden = "H1dd3nLicence"
		for _, line := range []string{"", "\n/opt/u/Updater manifest -p x -l " + hidden, "\n0 3 * * * MD_LICENSE=" + hidden + " /opt/u/Updater file -n x -t /srv/" + hidden} {
			got, err := convert(append(text[:len(text):len(text)], line...))
			if err != nil {
				if strings.Contains(err.Error(), hidden) {
					t.Errorf("error %v", err)
				}
				continue
			}
			if strings.Contains(string(got), hidden) {
				t.Errorf("shows the licence:\n%s", got)
			}
			loads(t, got)
		}
	})
}
