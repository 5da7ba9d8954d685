package trust

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"
)

// MaxChain is the largest file of trust texts in bytes.
const MaxChain = 4 << 20

// Chain is the versions of the trust in an origin, one after the other. Its first one is the
// root: it is trusted because of where it lies.
type Chain []Text

// ParseChain reads a file of trust texts, and checks each version by the one before it.
func ParseChain(data []byte) (Chain, error) {
	if len(data) > MaxChain {
		return nil, fmt.Errorf("trust file: %d bytes, at most %d are allowed", len(data), MaxChain)
	}
	var c Chain
	for len(data) > 0 {
		end := len(data)
		if next := bytes.Index(data[1:], []byte("\n"+header+"\n")); next >= 0 {
			end = next + 2
		}
		text, err := ParseText(data[:end])
		if err != nil {
			return nil, err
		}
		if c, err = c.Add(text); err != nil {
			return nil, err
		}
		data = data[end:]
	}
	if len(c) == 0 {
		return nil, errors.New("trust file: it is empty: write it with `syncd trust init`")
	}
	return c, nil
}

// Bytes is the file of the chain.
func (c Chain) Bytes() []byte {
	var data []byte
	for _, t := range c {
		data = append(data, t.bytes...)
	}
	return data
}

// Root is the first version, which people compare by its fingerprint.
func (c Chain) Root() Text { return c[0] }

// Newest is the last version. It decides which signatures count.
func (c Chain) Newest() Text { return c[len(c)-1] }

// Begins is true for the begin of another chain. Signatures do not count: two texts of a version
// can differ in them, and say the same.
func (c Chain) Begins(other Chain) bool {
	return len(c) <= len(other) && slices.EqualFunc(c, other[:len(c)], Text.Says)
}

// Add returns the chain with a further version, if enough keys signed that.
func (c Chain) Add(next Text) (Chain, error) {
	if len(c) == 0 {
		if missing := next.Missing(next); next.Version > 1 && missing > 0 {
			return nil, fmt.Errorf("trust text: version %d lacks %d signatures of its own keys", next.Version, missing)
		}
		return Chain{next}, nil
	}
	last := c.Newest()
	switch {
	case next.Origin != last.Origin:
		return nil, fmt.Errorf("trust text: version %d is for the origin %s, and not for %s", next.Version, next.Origin, last.Origin)
	case next.Version != last.Version+1:
		return nil, fmt.Errorf("trust text: version %d stands behind version %d", next.Version, last.Version)
	}
	if missing := last.Missing(next); missing > 0 {
		return nil, fmt.Errorf("trust text: version %d lacks %d signatures of keys of version %d", next.Version, missing, last.Version)
	}
	if missing := next.Missing(next); missing > 0 {
		return nil, fmt.Errorf("trust text: version %d lacks %d signatures of its own keys", next.Version, missing)
	}
	return append(slices.Clone(c), next), nil
}

// AddText is Add for the text of a version.
func (c Chain) AddText(data []byte) (Chain, error) {
	next, err := ParseText(data)
	if err != nil {
		return nil, err
	}
	return c.Add(next)
}

// Missing is how many more keys of t must sign a text. It is 0 when enough have.
func (t Text) Missing(text Text) int {
	return max(0, t.Threshold-len(t.SignersOf(text.bytes)))
}

// Change describes the next version of a trust.
type Change struct {
	Add       []Key
	Remove    []Key
	Threshold int       // 0 keeps it
	Expires   time.Time // the zero time keeps it
}

// Next returns the version behind the newest one, still without signatures.
func (c Chain) Next(change Change) (Text, error) {
	t := c.Newest()
	t.Version++
	keys := slices.Clone(t.Keys)
	for _, k := range change.Remove {
		i := slices.IndexFunc(keys, func(other Key) bool { return other.text == k.text })
		if i < 0 {
			return Text{}, fmt.Errorf("key %s is not in the trust text", k.Name())
		}
		keys = slices.Delete(keys, i, i+1)
	}
	t.Keys = slices.Concat(keys, change.Add)
	if change.Threshold > 0 {
		t.Threshold = change.Threshold
	}
	if !change.Expires.IsZero() {
		t.Expires = change.Expires.UTC().Truncate(time.Second)
	}
	return t.sealed()
}

// SignedBy returns a further version with the signatures of keys, which the version or the
// one before it must name.
func (c Chain) SignedBy(next Text, keys ...*PrivateKey) (Text, error) {
	for _, k := range keys {
		_, isOld := c.Newest().Key(k.public.text)
		if _, isNew := next.Key(k.public.text); !isOld && !isNew {
			return Text{}, fmt.Errorf("key %s is in neither version of the trust text", k.public.Name())
		}
	}
	signed, err := sign(next.body(), next.bytes, keys)
	if err != nil {
		return Text{}, err
	}
	return ParseText(signed)
}
