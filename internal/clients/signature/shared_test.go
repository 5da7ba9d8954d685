package signature

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// profiles writes the shared files of a home folder.
func profiles(t *testing.T, keys, config string) (home string) {
	t.Helper()
	home = t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".aws"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"credentials": keys, "config": config} {
		if err := os.WriteFile(filepath.Join(home, ".aws", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "")
	t.Setenv("AWS_CONFIG_FILE", "")
	return home
}

func TestKeysThatStandInAFileAreReadWithoutAProgram(t *testing.T) {
	const static = "aws_access_key_id = KEY\naws_secret_access_key = secret\naws_session_token = token\n"
	why := errors.New("why")
	for name, row := range map[string]struct{ keys, config, profile, want string }{
		"default":                   {"[default]\n" + static, "", "", "KEY secret token"},
		"a profile":                 {"[default]\nx = 1\n[p]\n" + static, "", "p", "KEY secret token"},
		"a profile of config":       {"", "[profile p]\n" + static, "p", "KEY secret token"},
		"keys before a program":     {"[default]\ncredential_process = x y\n", "[default]\n" + static, "", "KEY secret token"},
		"a program":                 {"", "[default]\ncredential_process = x y\n", "", "credential_process of HOME/.aws/config was not tried: why"},
		"a service":                 {"[default]\nsso_role_name = x\n", "", "", "sso_role_name of HOME/.aws/credentials was not tried: why"},
		"half a pair":               {"[default]\naws_access_key_id = KEY\n", "", "", "file does not exist"},
		"no profile":                {"", "", "", "file does not exist"},
		"no file of profiles":       {"root:$6$hash\n[", "", "", "HOME/.aws/credentials is no file of profiles"},
		"values that name others":   {"[default]\naws_access_key_id = %(a)s%(a)s\naws_secret_access_key = %%\na = long\n", "", "", "%(a)s%(a)s %%"},
		"values without an end":     {"[default]\naws_access_key_id = %(a)s\naws_secret_access_key = x\na = %(b)s\nb = %(a)s\n", "", "", "%(a)s x"},
		"another profile's program": {"[q]\ncredential_process = x y\n", "", "", "file does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			home := profiles(t, row.keys, row.config)
			t.Setenv("AWS_PROFILE", row.profile)
			files := sharedFiles()
			keys, err := readKeys(why, files[:]...)
			got := strings.TrimSpace(keys.AccessKeyID + " " + keys.SecretAccessKey + " " + keys.SessionToken)
			if err != nil {
				got = strings.ReplaceAll(err.Error(), home, "HOME")
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// Root would run what that user wrote, and any other user would, too.
func TestNoProgramOfAnotherUserIsStarted(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can make files of another user")
	}
	const stranger = 23456
	for name, change := range map[string]func(home string) error{
		"own files":            func(string) error { return nil },
		"a file of another":    func(home string) error { return os.Chown(filepath.Join(home, ".aws", "config"), stranger, -1) },
		"a folder of another":  func(home string) error { return os.Chown(filepath.Join(home, ".aws"), stranger, -1) },
		"a home of another":    func(home string) error { return os.Chown(home, stranger, -1) },
		"a folder of everyone": func(home string) error { return os.Chmod(filepath.Join(home, ".aws"), 0o777) },
		"a folder of a group": func(home string) error {
			return errors.Join(os.Chown(filepath.Join(home, ".aws"), 0, stranger), os.Chmod(filepath.Join(home, ".aws"), 0o775))
		},
	} {
		t.Run(name, func(t *testing.T) {
			start(t)
			ran := filepath.Join(t.TempDir(), "ran")
			program := filepath.Join(t.TempDir(), "program")
			script := fmt.Sprintf("#!/bin/sh\n: >%s\necho '{\"Version\": 1, \"AccessKeyId\": \"KEY\", \"SecretAccessKey\": \"secret\"}'\n", ran)
			if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			home := profiles(t, "", "[default]\ncredential_process = "+program+" x\n")
			if err := change(home); err != nil {
				t.Fatal(err)
			}
			keys, err := Credentials().GetWithContext(&credentials.CredContext{})
			_, statErr := os.Stat(ran)
			if name == "own files" {
				if err != nil || keys.AccessKeyID != "KEY" || statErr != nil {
					t.Errorf("%+v, %v, %v", keys, err, statErr)
				}
				return
			}
			if statErr == nil || !errors.As(err, new(*NotTriedError)) {
				t.Errorf("it ran: %v, error %v", statErr == nil, err)
			}
		})
	}
}
