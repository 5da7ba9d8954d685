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

	"github.com/dustin/go-humanize/english"

	"syncd/internal/clients/origin"
	"syncd/internal/config/document"
	"syncd/internal/config/value"
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
	reads  Changer
}

// minSigningSecret is the least number of bytes of a signing secret by the Standard Webhooks rules.
const minSigningSecret = 24

const secretForm = "write whsec_ and at least 24 random bytes in base64, on one line"

// Secret returns the signing secret of a webhook, "" for none. It is in the form of the
// Standard Webhooks rules: base64, maybe after whsec_. Its error is a *document.Error that shows
// neither the secret nor the path.
func (h Hook) Secret() (Secret, error) {
	switch {
	case h.secret == nil:
		return "", nil
	case h.read:
		return Secret(h.secret.text()), nil
	}
	data, err := h.reads.Read(h.secret.text(), maxCredential)
	if errors.Is(err, fsops.ErrTooLarge) {
		return "", h.secret.at.Error(h.file, "is too large for a secret", "check which file it names")
	}
	if err != nil {
		return "", h.reads.unreadable(h.secret.at, h.file, err)
	}
	secret := strings.TrimSpace(string(data))
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	switch {
	case err != nil || len(key) == 0:
		return "", h.secret.at.Error(h.file, "its file holds no secret of the Standard Webhooks form", secretForm)
	case len(key) < minSigningSecret:
		return "", h.secret.at.Error(h.file, fmt.Sprintf("its file holds a secret of %s, too short to keep others from guessing it", english.Plural(len(key), "byte", "")), secretForm)
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
func (d *decoder) hooks(n *document.Node, c *Config) []Hook {
	if n == nil || n.Null {
		return nil
	}
	if n.Kind != document.ListKind {
		d.Fail("hooks", "must be a list", "write each hook as an entry that begins with \"- on: \"")
		return nil
	}
	if len(n.Items) > maxHooks {
		d.Fail("hooks", fmt.Sprintf("has more than %d entries", maxHooks), "let one hook tell several programs")
		return nil
	}
	list := make([]Hook, len(n.Items))
	for i, item := range n.Items {
		list[i] = Hook{Timeout: defaultHookTimeout, file: d.File, reads: d.env.changer}
		d.hook(&list[i], document.Index("hooks", i), item, c)
	}
	nameHooks(d.Decoder, list)
	return list
}

func (d *decoder) hook(h *Hook, path string, n *document.Node, c *Config) {
	d.SetPosition(path, n.At)
	if n.Kind != document.MappingKind {
		d.Fail(path, "must be a mapping", "write \"- on: [activated]\", and command or webhook below it")
		return
	}
	var on []string
	var secret string
	d.Mapping(path, n, document.Table{
		"name":        document.Scalar(&h.Name, value.Name),
		"on":          document.List(&on, parseEvent),
		"manifests":   document.List(&h.Manifests, value.Name),
		"command":     document.List(&h.Command, value.Text),
		"webhook":     document.Scalar(&h.Webhook, value.URL),
		"timeout":     document.Scalar(&h.Timeout, parseHookTimeout),
		"secret_file": document.Scalar(&secret, d.besideConfig),
	})
	for _, text := range on {
		h.On = append(h.On, event.Kind(text))
	}
	if len(on) == 0 && d.Valid(path+".on") {
		d.Fail(path+".on", "is missing", "list the events, such as [activated, rolled_back]")
	}
	checkHookManifests(d.Decoder, h.Manifests, path+".manifests", c)
	checkReceiver(d.Decoder, h, path)
	if secret != "" {
		h.secret = giving(secret, d.Place(path+".secret_file"))
		d.keys = append(d.keys, keyFile{place: d.Place(path + ".secret_file"), path: secret})
	}
	d.checkWebhook(h, path, c.Source)
}

func checkHookManifests(d *document.Decoder, names []string, path string, c *Config) {
	for i, name := range names {
		if name != "" && !c.Has(name) {
			at := document.Index(path, i)
			if !d.IsSet(at) { // one value instead of a list
				at = path
			}
			d.Fail(at, "is not in manifests", "write the name of an entry of manifests, in the same case")
		}
	}
}

// checkReceiver requires either a command or a webhook.
func checkReceiver(d *document.Decoder, h *Hook, path string) {
	hasCommand, hasWebhook := d.IsSet(path+".command"), d.IsSet(path+".webhook")
	switch {
	case hasCommand && hasWebhook:
		d.Fail(path+".webhook", "command is set too", "write two hooks, one with command and one with webhook")
	case !hasCommand && !hasWebhook:
		d.Fail(path, "has neither command nor webhook", "set one of the two")
	case hasCommand:
		checkArguments(d, h.Command, path+".command")
	}
}

func checkArguments(d *document.Decoder, words []string, path string) {
	switch {
	case !d.Valid(path):
	case len(words) == 0 || words[0] == "":
		d.Fail(path, "names no program", "write it as [\"/usr/bin/program\", \"argument\"]")
	case len(words) > maxArguments:
		d.Fail(path, fmt.Sprintf("has more than %d words", maxArguments), "write a script and name it")
	case strings.Contains(words[0], "/") && !strings.HasPrefix(words[0], "/"), strings.ContainsAny(words[0], " \t"):
		d.Fail(path, "its program is neither an absolute path nor a name in PATH", "write it as [\"/usr/bin/program\", \"argument\"]; no shell reads it")
	}
}

// checkWebhook checks a webhook's address and secret.
func (d *decoder) checkWebhook(h *Hook, path string, source Source) {
	if h.Webhook == nil {
		if d.IsSet(path+".secret_file") && d.IsSet(path+".command") {
			d.Fail(path+".secret_file", "is only for a webhook", "remove it: a command gets no signature")
		}
		return
	}
	if h.Webhook.User != nil || h.Webhook.RawQuery != "" {
		d.secrets = append(d.secrets, d.Place(path+".webhook"))
	}
	if h.secret == nil && d.Valid(path+".secret_file") {
		d.unsigned = append(d.unsigned, d.Place(path+".webhook"))
	}
	if h.Webhook.Scheme == "http" && !origin.IsLoopback(h.Webhook.Hostname()) && !source.AllowInsecureHTTP && d.Valid("source.allow_insecure_http") {
		d.Fail(path+".webhook", "plain http to a host that is not loopback is insecure", "use https, or set source.allow_insecure_http: true if the network is trusted")
	}
}

// nameHooks gives each hook without a name one that lasts while its receiver is the same.
func nameHooks(d *document.Decoder, list []Hook) {
	var taken []string
	for i := range list {
		h := &list[i]
		path := document.Index("hooks", i) + ".name"
		if h.Name != "" && slices.Contains(taken, strings.ToLower(h.Name)) {
			d.Fail(path, "is the name of another hook (case is ignored)", "give each hook a name of its own")
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

func parseEvent(text string) (string, *document.Fault) {
	if slices.Contains(event.Kinds(), event.Kind(text)) {
		return text, nil
	}
	words := make([]string, len(event.Kinds()))
	for i, kind := range event.Kinds() {
		words[i] = string(kind)
	}
	return "", document.Refuse("is not an event", "use "+strings.Join(words, ", "))
}

func parseHookTimeout(text string) (time.Duration, *document.Fault) {
	timeout, f := value.PositiveDuration(text)
	if f == nil && timeout > maxHookTimeout {
		return 0, value.RefuseNumber(text, "is longer than an hour", "let the program do longer work in the background, by a service of its own")
	}
	return timeout, f
}
