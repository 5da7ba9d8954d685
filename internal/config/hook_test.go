package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"syncd/internal/config/document"
	"syncd/internal/hooks/event"
)

const hooksText = `hooks:
  - {on: [activated, rolled_back], command: ["/usr/bin/reload-geo", "--now"], timeout: 5m, manifests: [dq_addr_data]}
  - {on: failed, webhook: "https://u:pw@ops.example.net/hook?token=s3cret", secret_file: secret, name: ops}
  - {on: [staged, refused, stale, recovered, republished, damaged], command: ["/usr/bin/reload-geo", "--now"]}
`

func TestLoadReadsHooks(t *testing.T) {
	c := mustLoad(t, minimal+hooksText)
	if len(c.Hooks) != 3 {
		t.Fatalf("%d hooks", len(c.Hooks))
	}
	command, webhook, again := c.Hooks[0], c.Hooks[1], c.Hooks[2]
	if !slices.Equal(command.On, []event.Kind{event.Activated, event.RolledBack}) || !slices.Equal(command.Command, []string{"/usr/bin/reload-geo", "--now"}) ||
		command.Timeout != 5*time.Minute || !slices.Equal(command.Manifests, []string{"dq_addr_data"}) || command.Webhook != nil {
		t.Errorf("command %+v", command)
	}
	if webhook.Name != "ops" || webhook.Timeout != time.Minute || webhook.Webhook.Path != "/hook" || len(webhook.Manifests) > 0 {
		t.Errorf("webhook %+v", webhook)
	}
	if !strings.HasPrefix(command.Name, "command-") || again.Name != command.Name+"-2" {
		t.Errorf("names %q and %q", command.Name, again.Name)
	}
	if text := fmt.Sprintf("%+v", webhook); strings.Contains(text, "secret:/") {
		t.Errorf("prints %s", text)
	}
}

func TestProblemsOfHooksAreReported(t *testing.T) {
	for name, row := range map[string]struct{ hook, want string }{
		"no event":             {`{command: [/x]}`, "hooks[0].on: is missing"},
		"unknown event":        {`{on: [activated, updated], command: [/x]}`, "hooks[0].on[1]: is not an event"},
		"no receiver":          {`{on: activated}`, "hooks[0]: has neither command nor webhook"},
		"two receivers":        {`{on: activated, command: [/x], webhook: "https://h.example"}`, "hooks[0].webhook: command is set too"},
		"unknown key":          {`{on: activated, command: [/x], shell: true}`, "hooks[0].shell: unknown key"},
		"empty command":        {`{on: activated, command: []}`, "hooks[0].command: names no program"},
		"relative command":     {`{on: activated, command: [bin/x]}`, "hooks[0].command: its program is neither"},
		"command line":         {`{on: activated, command: "/x --now"}`, "hooks[0].command: its program is neither"},
		"not a URL":            {`{on: activated, webhook: "ops.example"}`, "hooks[0].webhook: is not an http or https URL"},
		"plain http":           {`{on: activated, webhook: "http://ops.example/hook"}`, "hooks[0].webhook: plain http"},
		"timeout":              {`{on: activated, command: [/x], timeout: 0s}`, "hooks[0].timeout: must be longer than 0"},
		"long timeout":         {`{on: activated, command: [/x], timeout: 2h}`, "hooks[0].timeout: is longer than an hour"},
		"other manifest":       {`{on: activated, command: [/x], manifests: [dq_addr_data, other]}`, "hooks[0].manifests[1]: is not in manifests"},
		"secret of a command":  {`{on: activated, command: [/x], secret_file: /s}`, "hooks[0].secret_file: is only for a webhook"},
		"bad name":             {`{on: activated, command: [/x], name: "a b"}`, "hooks[0].name: is not usable as a name"},
		"two of one name":      {"{on: activated, command: [/x], name: a}\n  - {on: activated, command: [/y], name: A}", "hooks[1].name: is the name of another hook"},
		"a word":               {`reload`, "hooks[0]: must be a mapping"},
		"too many hooks":       {strings.Repeat("{on: activated, command: [/x]}\n  - ", maxHooks) + "{on: activated, command: [/x]}", "hooks: has more than 32 entries"},
		"too many arguments":   {`{on: activated, command: [/x` + strings.Repeat(", a", 100) + `]}`, "hooks[0].command: has more than 100 words"},
		"argument with a null": {`{on: activated, command: [/x, "a\0b"]}`, "hooks[0].command[1]: has a control character"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse("c.yaml", []byte(minimal+"hooks:\n  - "+row.hook+"\n"), Environment{})
			if err == nil || !strings.Contains(err.Error(), row.want) || strings.Count(err.Error(), "\n") > 0 {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}

func TestHooksAreAList(t *testing.T) {
	_, err := parse("c.yaml", []byte(minimal+"hooks: reload\n"), Environment{})
	if err == nil || !strings.Contains(err.Error(), "hooks: must be a list") {
		t.Errorf("error %v", err)
	}
}

func TestPlainHTTPToALoopbackReceiverIsAllowed(t *testing.T) {
	c := mustLoad(t, minimal+"hooks:\n  - {on: activated, webhook: \"http://127.0.0.1:8000/hook\"}\n")
	if w := strings.Join(c.Warnings(), "\n"); !strings.Contains(w, "hooks[0].webhook: its events are not signed") {
		t.Errorf("warnings %q", w)
	}
}

func TestTheSecretOfAWebhookIsReadFromItsFile(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqTwUPD8I7BmWXMaoOT3v0N"
	for name, row := range map[string]struct{ content, want string }{
		"good": {"\n" + secret + "\n", ""}, "without prefix": {secret[6:], ""},
		"absent": {"", "cannot be read: no such file or directory"}, "empty": {" \n", "holds no secret"}, "words": {"my secret", "holds no secret"},
		"5 bytes": {"whsec_aGVsbG8=", "holds a secret of 5 bytes, too short"}, "23 bytes": {strings.Repeat("AAAA", 7) + "AAA=", "23 bytes"},
		"large": {strings.Repeat("A", 1<<17), "is too large"},
	} {
		t.Run(name, func(t *testing.T) {
			c := mustLoad(t, minimal+hooksText)
			path := filepath.Join(filepath.Dir(c.Path), "secret")
			if name != "absent" {
				must(t, os.WriteFile(path, []byte(row.content), 0o600))
			}
			err := c.ReadHookSecrets()
			if row.want == "" {
				got, again := c.Hooks[1].Secret()
				if err != nil || again != nil || got.Reveal() != strings.TrimSpace(row.content) || fmt.Sprint(got) != redacted {
					t.Errorf("got %q, %v, %v", got.Reveal(), err, again)
				}
				return
			}
			if at, ok := errors.AsType[*document.Error](err); !ok || at.Key != "hooks[1].secret_file" || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v", err)
			}
			if text := fmt.Sprint(err); strings.Contains(text, filepath.Dir(c.Path)+"/secret") || len(row.content) > 3 && strings.Contains(text, row.content) {
				t.Errorf("the error shows the path or the content: %s", text)
			}
			if errors.Is(err, fs.ErrNotExist) != (name == "absent") {
				t.Errorf("cause of %v", err)
			}
		})
	}
}
