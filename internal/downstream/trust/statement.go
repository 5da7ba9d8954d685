package trust

import (
	"errors"
	"fmt"
	"time"

	"syncd/internal/manifest"
)

const statementHeader = "syncd-generation/v1"

// MaxStatement is the largest statement with its signatures in bytes.
const MaxStatement = 16 << 10

// Skew is how wrong the clock of a follower may be.
const Skew = time.Hour

// These errors say why a statement or a text was not believed.
var (
	ErrUnsigned     = errors.New("too few signatures")
	ErrBadSignature = errors.New("a signature is wrong")
	ErrWrongOrigin  = errors.New("another origin")
	ErrExpired      = errors.New("expired")
)

// Statement says which generation of an origin is the newest.
type Statement struct {
	Origin     string
	Generation int
	SHA256     manifest.ObjectID // of the generation's text
	Issued     time.Time         // to the second, in UTC
	Expires    time.Time
}

func (s Statement) body() string {
	return fmt.Sprintf("%s\norigin %s\ngeneration %d\nsha256 %s\nissued %s\nexpires %s\n", statementHeader,
		s.Origin, s.Generation, s.SHA256, s.Issued.Format(time.RFC3339), s.Expires.Format(time.RFC3339))
}

// Sign returns the text of a statement with signatures of keys. Times lose what is below a
// second.
func (s Statement) Sign(keys ...*PrivateKey) ([]byte, error) {
	s.Issued, s.Expires = s.Issued.UTC().Truncate(time.Second), s.Expires.UTC().Truncate(time.Second)
	if _, err := ParseStatement([]byte(s.body())); err != nil {
		return nil, err
	}
	return sign(s.body(), nil, keys)
}

// ParseStatement reads a statement. It checks no signature.
func ParseStatement(text []byte) (Statement, error) {
	s, err := parseStatement(text)
	if err != nil {
		return Statement{}, fmt.Errorf("statement: %w", err)
	}
	return s, nil
}

func parseStatement(text []byte) (Statement, error) {
	if len(text) > MaxStatement {
		return Statement{}, fmt.Errorf("%d bytes, at most %d are allowed", len(text), MaxStatement)
	}
	body := bodyOf(text)
	if len(text) > len(body) && !isSigned(text) {
		return Statement{}, errors.New("malformed signatures")
	}
	fields := lines{rest: body}
	fields.line(statementHeader)
	s := Statement{Origin: fields.value("origin"), Generation: fields.number("generation")}
	id, err := manifest.ParseObjectID(fields.value("sha256"))
	s.SHA256, s.Issued, s.Expires = id, fields.time("issued"), fields.time("expires")
	switch {
	case fields.err != nil:
		return Statement{}, fields.err
	case err != nil:
		return Statement{}, err
	case s.Generation < 1 || !s.Expires.After(s.Issued):
		return Statement{}, errors.New("its generation or its times make no sense")
	case s.body() != body:
		return Statement{}, errors.New("not in its usual form")
	}
	return s, CheckOrigin(s.Origin)
}

// Believe reads a statement that enough keys of t signed, for the origin of t. It does not
// look at the time: see HasExpired. signers are the keys that count.
func (t Text) Believe(text []byte) (s Statement, signers []Key, err error) {
	if s, err = ParseStatement(text); err != nil {
		return Statement{}, nil, err
	}
	if s.Origin != t.Origin {
		return Statement{}, nil, fmt.Errorf("statement: %w: %s, and not %s", ErrWrongOrigin, s.Origin, t.Origin)
	}
	signers, err = t.signedEnough("statement", text)
	return s, signers, err
}

// Verify returns any text without its signatures, if enough keys of t signed it.
func (t Text) Verify(text []byte) (body []byte, signers []Key, err error) {
	if !isSigned(text) {
		return nil, nil, fmt.Errorf("%w: it has none", ErrUnsigned)
	}
	if signers, err = t.signedEnough("text", text); err != nil {
		return nil, nil, err
	}
	return []byte(bodyOf(text)), signers, nil
}

// signedEnough returns the keys of t that signed a text, or why they are too few.
func (t Text) signedEnough(what string, text []byte) ([]Key, error) {
	signers := t.SignersOf(text)
	if len(signers) >= t.Threshold {
		return signers, nil
	}
	why := ErrUnsigned
	if t.claims(text) > len(signers) {
		why = ErrBadSignature
	}
	return nil, fmt.Errorf("%s: %w: %d of %d keys of %s signed it, as its trust text (version %d) asks", what, why, len(signers), t.Threshold, t.Origin, t.Version)
}

// HasExpired is true when a statement is too old to be believed at now, by a clock that may
// be wrong by Skew.
func (s Statement) HasExpired(now time.Time) bool { return now.Add(-Skew).After(s.Expires) }
