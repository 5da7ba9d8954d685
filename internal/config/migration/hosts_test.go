package migration

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"syncd/internal/config/migration/commandline"
)

// hostOf is a host whose files lie in a folder. The given files lie in /GIVEN of it.
func hostOf(folder string) Host {
	return Host{UsableMap: usable, Read: func(path string) ([]byte, error) {
		return os.ReadFile(filepath.Join(folder, path))
	}}
}

func TestWhatATextCallsIsReadWhereItIsCalled(t *testing.T) {
	folders, err := filepath.Glob("testdata/hosts/*")
	if err != nil || len(folders) < 5 {
		t.Fatalf("%d hosts, %v", len(folders), err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			paths, err := filepath.Glob(filepath.Join(folder, "given", "*"))
			if err != nil {
				t.Fatal(err)
			}
			var texts []commandline.Text
			for _, path := range paths {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				texts = append(texts, commandline.Text{Name: "/GIVEN/" + filepath.Base(path), Data: data})
			}
			got, err := Convert(texts, hostOf(filepath.Join(folder, "disk")))
			if err != nil {
				t.Fatal(err)
			}
			converted(t, got, filepath.Join(folder, "want.yaml"))
		})
	}
}

// The called script comes over standard input, without a name.
func TestACalledScriptMayComeOverStandardInput(t *testing.T) {
	texts := []commandline.Text{
		{Name: "/GIVEN/crontab", Data: []byte("5 6 * * * /opt/refdata dq_addr_data\n")},
		{Data: []byte("/opt/updater/Updater manifest -p $1 -l " + licence + " -t /srv/refdata || reboot\n")},
	}
	got, err := Convert(texts, Host{UsableMap: usable})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"- name: dq_addr_data\n    schedule: \"5 6 * * *\"", "line 1 of standard input, reboot: left out: after a failure, a hook starts it"} {
		if !strings.Contains(string(got), part) {
			t.Errorf("lacks %q:\n%s", part, got)
		}
	}
}

func TestAScriptThatIsMissingIsAskedFor(t *testing.T) {
	_, err := convert([]byte("0 3 * * * /opt/scripts/refdata.sh\n"))
	const want = "line 1 calls /opt/scripts/refdata.sh, which cannot be read here: give it as a second file, `syncd config from-updater FILE /opt/scripts/refdata.sh`"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// A form that is not read is answered with what to give instead.
func TestOtherFormsAreAnsweredWithWhatToGive(t *testing.T) {
	const command = `C:\Updater\Updater.exe manifest -p dq_addr_data -l ` + licence + ` -t D:\ref`
	for name, row := range map[string]struct{ text, want string }{
		"list of tasks":  {"HostName:      WIN1\nTaskName:      \\Updater\nTask To Run:   " + command + "\nStart Time:    03:00:00\n", "schtasks /query /tn NAME /xml"},
		"table of tasks": {"\"HostName\",\"TaskName\",\"Task To Run\"\n\"WIN1\",\"\\Updater\",\"" + command + "\"\n", "schtasks /query /tn NAME /xml"},
		"cmdlets":        {"$a = New-ScheduledTaskAction -Execute 'C:\\U.exe' -Argument 'manifest -p x -l " + licence + "'\nRegister-ScheduledTask -Action $a\n", "schtasks /query /tn NAME /xml"},
		"Kubernetes":     {"apiVersion: batch/v1\nkind: CronJob\nspec: {schedule: \"0 3 * * *\"}\n", "one line of a crontab"},
		"Python":         {"#!/usr/bin/env python3\nrun(['/opt/updater/Updater', 'manifest', '-p', 'x'])\n", "write the command lines that it runs into a file"},
		"anchors":        {"x-a: &a {image: u}\nservices:\n  u:\n    <<: *a\n    command: manifest -p x\n", "docker compose config > resolved.yml"},
		"broken XML":     {"<Task><Actions><Exec><Arguments>manifest -p x -l " + licence + "</Wrong></Task>", "schtasks /query /tn NAME /xml"},
		"without name":   {"0 3 * * * /opt/updater/Updater manifest -l " + licence + "\n", "the updater gets no manifest, product or file there"},
	} {
		_, err := convert([]byte(row.text))
		if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), licence) {
			t.Errorf("%s: %v, want %s", name, err, row.want)
		}
	}
}

func TestALicenceOfAnyFormStaysHidden(t *testing.T) {
	const windows = `C:\Updater\Updater.exe manifest -p x -t D:\x`
	for name, text := range map[string]string{
		"setx":             "@echo off\nsetx MD_LICENSE " + licence + "\n" + licence + "\n" + windows + "\n",
		"machine":          "[Environment]::SetEnvironmentVariable('MD_LICENSE', '" + licence + "', 'Machine')\n$u = 1\n& '" + `C:\u.exe` + "' manifest -p x\n",
		"piped text":       "$u = 1\n'" + licence + "' | & '" + `C:\u.exe` + "' manifest -p x\n",
		"unit":             "[Service]\nEnvironment=MD_LICENSE=" + licence + "\nExecStart=/u/Updater manifest -p x\nExecStartPost=/opt/" + licence + "\n",
		"compose":          "services:\n  u:\n    environment: {MD_LICENSE: " + licence + "}\n    command: manifest -p x\n    volumes: [\"/srv/" + licence + ":/d\"]\n",
		"task":             "<Task><Actions><Exec><Command>C:\\u.exe</Command><Arguments>manifest -p x -l " + licence + "</Arguments></Exec><Exec><Command>" + licence + "</Command></Exec></Actions></Task>",
		"called by a path": "0 3 * * * MD_LICENSE=" + licence + " /srv/" + licence + ".sh\n0 4 * * * /u/Updater manifest -p x\n",
	} {
		got, err := convert([]byte(text))
		if err != nil || strings.Contains(strings.ToLower(string(got)), strings.ToLower(licence)) {
			t.Errorf("%s: %v, %s", name, err, got)
		}
	}
}

// Windows writes UTF-16, with a byte order mark or without.
func TestUTF16IsReadAsUTF8(t *testing.T) {
	paths, _ := filepath.Glob("testdata/lines/*.txt")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.TrimPrefix(text, []byte("\uFEFF"))
		want, err := convert(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, mark := range []string{"\uFEFF", ""} {
			for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
				var wide []byte
				for _, unit := range utf16.Encode([]rune(mark + string(text))) {
					wide = order.AppendUint16(wide, unit)
				}
				got, err := convert(wide)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s in UTF-16 (%v, mark %t): %v", path, order, mark != "", err)
				}
			}
		}
	}
}

// Scripts that call or read themselves end soon.
func TestScriptsThatCallThemselvesEnd(t *testing.T) {
	const self = "/etc/called.sh"
	for name, script := range map[string]string{
		"call": strings.Repeat(self+"\n", 2_000), "read": strings.Repeat(". "+self+"\n", 2_000),
		"both": strings.Repeat(". "+self+"; "+self+"\n", 1_000),
	} {
		script += "/opt/u/Updater manifest -p x\n"
		host := Host{UsableMap: usable, Read: func(string) ([]byte, error) { return []byte(script), nil }}
		for _, texts := range [][]commandline.Text{
			{{Name: "/etc/crontab", Data: []byte("0 3 * * * " + self + "\n")}},
			{{Name: "/etc/crontab", Data: []byte("0 3 * * * " + self + "\n")}, {Name: self, Data: []byte(script)}},
		} {
			if got, err := Convert(texts, host); err != nil || !strings.Contains(string(got), "- name: x\n") {
				t.Errorf("%s: %v\n%s", name, err, got)
			}
		}
	}
}

// FuzzCalledScript reads a text and a script that it may call.
func FuzzCalledScript(f *testing.F) {
	folders, _ := filepath.Glob("testdata/hosts/*")
	for _, folder := range folders {
		paths, _ := filepath.Glob(filepath.Join(folder, "given", "*"))
		var texts [2][]byte
		for i, path := range paths {
			texts[i%2], _ = os.ReadFile(path)
		}
		f.Add(texts[0], texts[1])
	}
	f.Fuzz(func(t *testing.T, text, script []byte) {
		const hidden = "H1dd3nLicence"
		line := "\n/opt/u/Updater manifest -p x -l " + hidden + " -t /srv/" + hidden + "\n"
		host := Host{UsableMap: usable, Read: func(string) ([]byte, error) { return append(script[:len(script):len(script)], line...), nil }}
		got, err := Convert([]commandline.Text{{Name: "/etc/a.service", Data: text}, {Name: "/etc/called.sh", Data: append(script[:len(script):len(script)], line...)}}, host)
		if err != nil {
			got = []byte(err.Error())
		} else {
			loads(t, got)
		}
		if strings.Contains(string(got), hidden) {
			t.Errorf("shows the licence:\n%s", got)
		}
	})
}
