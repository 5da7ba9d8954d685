package config

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"syncd/internal/clients/origin"
	"syncd/internal/disk/fsops"
	"syncd/internal/hooks/event"
)

// Limits of hooks. Each hook has a worker and, while it runs, a command with a supervisor.
const (
	maxHooks           = 32
	maxArguments       = 100
	defaultHookTimeout = time.Minute
	maxHookTimeout     = time.Hour
)

// Hook is told about events: a command or a webhook.
type Hook struct {
	Name      string // identifies its deliveries, metrics and log lines
	On        []event.Kind
	Manifests []string // empty for all
	Command   []string // program and arguments; empty for a webhook
	Webhook   *url.URL // may hold a token: show its origin only
	Timeout   time.Duration

	secret *given // of a webhook: path of its file, or after ReadHookSecrets the secret itself
	read   bool   // secret holds the secret itself
	file   string // the config file, for errors
}

// Secret returns the signing secret of a webhook, "" for none. It is in the form of the
// Standard Webhooks rules: base64, maybe after whsec_. Its error is an *Error that shows
// neither the secret nor the path.
func (h Hook) Secret() (Secret, error) {
	switch {
	case h.secret == nil:
		return "", nil
	case h.read:
		return Secret(h.secret.text()), nil
	}
	data, _, err := fsops.ReadRegular(h.secret.text(), maxCredential)
	if errors.Is(err, fsops.ErrTooLarge) {
		return "", h.secret.at.error(h.file, fault{"is too large for a secret", "check which file it names"})
	}
	if err != nil {
		cause := systemError(err)
		problem := h.secret.at.error(h.file, fault{"cannot be read: " + cause.Error(), "check that the file is there and that syncd's user may read it"})
		problem.cause = cause
		return "", problem
	}
	secret := strings.TrimSpace(string(data))
	if key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_")); err != nil || len(key) == 0 {
		return "", h.secret.at.error(h.file, fault{
			"its file holds no secret of the Standard Webhooks form", "write whsec_ and at least 24 random bytes in base64, on one line",
		})
	}
	return Secret(secret), nil
}

// ReadHookSecrets reads the secrets of all hooks and keeps them. Call it before syncd
// becomes another user, who may not be able to read them.
func (c *Config) ReadHookSecrets() error {
	for i := range c.Hooks {
		h := &c.Hooks[i]
		secret, err := h.Secret()
		if err != nil {
			return err
		}
		if h.secret != nil {
			h.secret, h.read = giving(secret.Reveal(), h.secret.at), true
		}
	}
	return nil
}

// DropHookSecretsIn forgets the secrets of hooks in a folder that only the daemon can see,
// and returns the names of their files.
func (c *Config) DropHookSecretsIn(dir string) (names []string) {
	for i := range c.Hooks {
		h := &c.Hooks[i]
		if h.secret != nil && !h.read && filepath.Dir(h.secret.text()) == dir {
			names = append(names, filepath.Base(h.secret.text()))
			h.secret = nil
		}
	}
	return names
}

// hooks decodes the list of hooks. It must run after source and manifests are decoded.
func (d *decoder) hooks(n *node, c *Config) []Hook {
	if n == nil || n.null {
		return nil
	}
	if n.kind != listKind {
		d.fail("hooks", fault{"must be a list", "write each hook as an entry that begins with \"- on: \""})
		return nil
	}
	if len(n.items) > maxHooks {
		d.fail("hooks", fault{fmt.Sprintf("has more than %d entries", maxHooks), "let one hook tell several programs"})
		return nil
	}
	list := make([]Hook, len(n.items))
	for i, item := range n.items {
		list[i] = Hook{Timeout: defaultHookTimeout, file: d.file}
		d.hook(&list[i], index("hooks", i), item, c)
	}
	d.nameHooks(list)
	return list
}

func (d *decoder) hook(h *Hook, path string, n *node, c *Config) {
	d.at[path] = n.at
	if n.kind != mappingKind {
		d.fail(path, fault{"must be a mapping", "write \"- on: [activated]\", and command or webhook below it"})
		return
	}
	var on []string
	var secret string
	d.mapping(path, n, table{
		"name":        scalar(&h.Name, parseName),
		"on":          list(&on, parseEvent),
		"manifests":   list(&h.Manifests, parseName),
		"command":     list(&h.Command, parseArgument),
		"webhook":     scalar(&h.Webhook, parseURL),
		"timeout":     scalar(&h.Timeout, parseHookTimeout),
		"secret_file": scalar(&secret, d.besideConfig),
	})
	for _, text := range on {
		h.On = append(h.On, event.Kind(text))
	}
	if len(on) == 0 && d.valid(path+".on") {
		d.fail(path+".on", fault{"is missing", "list the events, such as [activated, rolled_back]"})
	}
	d.checkHookManifests(h.Manifests, path+".manifests", c)
	d.checkReceiver(h, path)
	if secret != "" {
		h.secret = giving(secret, d.place(path+".secret_file"))
		d.keys = append(d.keys, keyFile{d.place(path + ".secret_file"), secret})
	}
	d.checkWebhook(h, path, c.Source)
}

func (d *decoder) checkHookManifests(names []string, path string, c *Config) {
	for i, name := range names {
		if name != "" && !c.Has(name) {
			at := index(path, i)
			if !d.isSet(at) { // one value instead of a list
				at = path
			}
			d.fail(at, fault{"is not in manifests", "write the name of an entry of manifests, in the same case"})
		}
	}
}

// checkReceiver requires either a command or a webhook.
func (d *decoder) checkReceiver(h *Hook, path string) {
	hasCommand, hasWebhook := d.isSet(path+".command"), d.isSet(path+".webhook")
	switch {
	case hasCommand && hasWebhook:
		d.fail(path+".webhook", fault{"command is set too", "write two hooks, one with command and one with webhook"})
	case !hasCommand && !hasWebhook:
		d.fail(path, fault{"has neither command nor webhook", "set one of the two"})
	case hasCommand:
		d.checkArguments(h.Command, path+".command")
	}
}

// checkArguments checks a program with its arguments.
func (d *decoder) checkArguments(words []string, path string) {
	switch {
	case !d.valid(path):
	case len(words) == 0 || words[0] == "":
		d.fail(path, fault{"names no program", "write it as [\"/usr/bin/program\", \"argument\"]"})
	case len(words) > maxArguments:
		d.fail(path, fault{fmt.Sprintf("has more than %d words", maxArguments), "write a script and name it"})
	case strings.Contains(words[0], "/") && !strings.HasPrefix(words[0], "/"), strings.ContainsAny(words[0], " \t"):
		d.fail(path, fault{"its program is neither an absolute path nor a name in PATH", "write it as [\"/usr/bin/program\", \"argument\"]; no shell reads it"})
	}
}

// checkWebhook checks a webhook's address and secret.
func (d *decoder) checkWebhook(h *Hook, path string, source Source) {
	if h.Webhook == nil {
		if d.isSet(path+".secret_file") && d.isSet(path+".command") {
			d.fail(path+".secret_file", fault{"is only for a webhook", "remove it: a command gets no signature"})
		}
		return
	}
	if h.Webhook.User != nil || h.Webhook.RawQuery != "" {
		d.secrets = append(d.secrets, d.place(path+".webhook"))
	}
	if h.secret == nil && d.valid(path+".secret_file") {
		d.unsigned = append(d.unsigned, d.place(path+".webhook"))
	}
	if h.Webhook.Scheme == "http" && !origin.IsLoopback(h.Webhook.Hostname()) && !source.AllowInsecureHTTP && d.valid("source.allow_insecure_http") {
		d.fail(path+".webhook", fault{
			"plain http to a host that is not loopback is insecure", "use https, or set source.allow_insecure_http: true if the network is trusted",
		})
	}
}

// nameHooks gives each hook without a name one that lasts while its receiver is the same.
func (d *decoder) nameHooks(list []Hook) {
	var taken []string
	for i := range list {
		h := &list[i]
		path := index("hooks", i) + ".name"
		if h.Name != "" && slices.Contains(taken, strings.ToLower(h.Name)) {
			d.fail(path, fault{"is the name of another hook (case is ignored)", "give each hook a name of its own"})
		}
		if h.Name != "" {
			taken = append(taken, strings.ToLower(h.Name))
		}
	}
	for i := range list {
		if h := &list[i]; h.Name == "" {
			h.Name = h.defaultName()
			for n := 2; slices.Contains(taken, h.Name); n++ {
				h.Name = fmt.Sprintf("%s-%d", h.defaultName(), n)
			}
			taken = append(taken, h.Name)
		}
	}
}

func (h *Hook) defaultName() string {
	kind, receiver := "command", strings.Join(h.Command, "\x00")
	if h.Webhook != nil {
		kind, receiver = "webhook", h.Webhook.String()
	}
	sum := sha256.Sum256([]byte(receiver))
	return kind + "-" + hex.EncodeToString(sum[:3])
}

func parseEvent(text string) (string, *fault) {
	if slices.Contains(event.Kinds(), event.Kind(text)) {
		return text, nil
	}
	words := make([]string, len(event.Kinds()))
	for i, kind := range event.Kinds() {
		words[i] = string(kind)
	}
	return "", &fault{"is not an event", "use " + strings.Join(words, ", ")}
}

func parseHookTimeout(text string) (time.Duration, *fault) {
	timeout, f := parsePositiveDuration(text)
	if f == nil && timeout > maxHookTimeout {
		return 0, &fault{"is longer than an hour", "let the program do longer work in the background, by a service of its own"}
	}
	return timeout, f
}
