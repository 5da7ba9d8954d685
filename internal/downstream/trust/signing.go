package trust

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// publicOf derives the public key from the text of a private one.
func publicOf(secret string) (Key, error) {
	parts := strings.SplitN(secret, "+", 5) // PRIVATE+KEY+name+hash+base64
	if len(parts) != 5 {
		return Key{}, errors.New("malformed")
	}
	seed, err := base64.StdEncoding.DecodeString(parts[4])
	if err != nil || len(seed) != 1+ed25519.SeedSize {
		return Key{}, errors.New("malformed")
	}
	public := ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey)
	text, err := note.NewEd25519VerifierKey(parts[2], public)
	if err != nil {
		return Key{}, err
	}
	return ParseKey(text)
}

// sign adds a signature of each key to a text, which may be signed already. A key that signed
// before signs again. body is the text without its signatures, and ends in a line feed.
func sign(body string, text []byte, keys []*PrivateKey) ([]byte, error) {
	if len(keys) == 0 {
		return text, nil // a note without signatures is malformed
	}
	signers := make([]note.Signer, len(keys))
	for i, k := range keys {
		signers[i] = k.signer
	}
	return note.Sign(&note.Note{Text: body, UnverifiedSigs: signaturesOf(text)}, signers...)
}

// bodyOf returns a text without its signatures.
func bodyOf(text []byte) string {
	if i := strings.LastIndex(string(text), "\n\n"); i >= 0 {
		return string(text[:i+1])
	}
	return string(text)
}

// Sign signs any text, such as a list of digests, and returns it with its signatures. A text
// that is signed already keeps them. The text must end in a line feed.
func Sign(text []byte, keys ...*PrivateKey) ([]byte, error) {
	if !isSigned(text) {
		return sign(string(text), text, keys)
	}
	return sign(bodyOf(text), text, keys)
}

// isSigned is true for a text with lines of signatures at its end, whoever signed.
func isSigned(text []byte) bool { return len(signaturesOf(text)) > 0 }

// signaturesOf returns the signatures of a text without a look at whether they are right.
func signaturesOf(text []byte) []note.Signature {
	_, err := note.Open(text, note.VerifierList())
	if unverified, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
		return unverified.Note.UnverifiedSigs
	}
	return nil
}

// claims counts the keys of t that a text claims to be signed by, rightly or not.
func (t Text) claims(text []byte) int {
	count, signatures := 0, signaturesOf(text)
	for _, k := range t.Keys {
		if slices.ContainsFunc(signatures, func(s note.Signature) bool { return s.Name == k.Name() && s.Hash == k.verifier.KeyHash() }) {
			count++
		}
	}
	return count
}
