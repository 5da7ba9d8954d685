package trust

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/mod/sumdb/note"
)

// maxName bounds the name of a key in bytes.
const maxName = 64

// Key is a public key. Its text is the verifier key of a signed note: NAME+HASH+BASE64.
type Key struct {
	text     string
	verifier note.Verifier
}

// ParseKey reads the text of a public key, as `syncd trust keygen` prints it.
func ParseKey(text string) (Key, error) {
	if strings.HasPrefix(text, "PRIVATE+KEY+") {
		return Key{}, errors.New("this is a private key: give the public one, which keygen printed")
	}
	verifier, err := note.NewVerifier(text)
	if err != nil {
		return Key{}, fmt.Errorf("not a public key: %w", err)
	}
	k := Key{text, verifier}
	if err := checkName(k.Name()); err != nil {
		return Key{}, err
	}
	if canonical := fmt.Sprintf("%s+%08x+%s", k.Name(), verifier.KeyHash(), k.base64()); canonical != text {
		return Key{}, errors.New("not a public key in its usual form")
	}
	return k, nil
}

// Name is the name of the key's owner. It has no spaces.
func (k Key) Name() string { return k.verifier.Name() }

// String is the text of the key.
func (k Key) String() string { return k.text }

// base64 is the key itself, without name and hash.
func (k Key) base64() string { return k.text[len(k.Name()+"+00000000+"):] }

// signed is true when the key signed a note.
func (k Key) signed(text []byte) bool {
	_, err := note.Open(text, note.VerifierList(k.verifier))
	return err == nil
}

// checkName requires a name that is one printable word, because it reaches terminals.
func checkName(name string) error {
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsGraphic(c) || c == '+' || unicode.IsSpace(c) }) {
		return fmt.Errorf("name %.80q: use a word of at most %d letters, digits, dots and dashes", name, maxName)
	}
	return nil
}

// PrivateKey signs. It prints as REDACTED.
type PrivateKey struct {
	signer note.Signer
	public Key
}

// GenerateKey makes a key pair. secret is the text for the key's file; nothing else may hold
// it.
func GenerateKey(name string) (secret string, public Key, err error) {
	if err := checkName(name); err != nil {
		return "", Key{}, err
	}
	secret, text, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		return "", Key{}, err
	}
	public, err = ParseKey(text)
	return secret, public, err
}

// ParsePrivateKey reads the one line of a key's file. Its error does not quote the text.
func ParsePrivateKey(text string) (*PrivateKey, error) {
	text = strings.TrimSpace(text)
	signer, err := note.NewSigner(text)
	if err != nil {
		return nil, errors.New("not a private key: expected the line that `syncd trust keygen` wrote")
	}
	public, err := publicOf(text)
	if err != nil {
		return nil, errors.New("not a private key in its usual form")
	}
	return &PrivateKey{signer, public}, nil
}

// Public is the public half of the key.
func (k *PrivateKey) Public() Key { return k.public }

// Format writes REDACTED, whatever the verb.
func (*PrivateKey) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("REDACTED")) }
