package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"syncd/internal/manifest/refusal"
)

// Limits of a body. Real answers nest five levels deep and hold a few hundred
// thousand values.
const (
	maxDepth  = 32
	maxValues = 2_000_000
)

// ParseJSON reads a body that is one JSON value. Errors are refusals.
func ParseJSON(body []byte) (Value, error) {
	p := newJSONParser(body)
	v, err := p.value(maxDepth)
	if err != nil {
		return nil, err
	}
	if _, err := p.decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, refusal.New(refusal.BadShape, "more text follows the JSON value")
	}
	return v, nil
}

// ParseJSONP reads the answer of a script endpoint: bare JSON, or a function
// call with JSON as its first argument. It unwraps the member "d" that some
// answers add, and removes the members "__type". Errors are refusals.
func ParseJSONP(body []byte) (Value, error) {
	body = trim(body)
	var v Value
	var err error
	if open := bytes.IndexByte(body, '('); open >= 0 && !bytes.HasPrefix(body, []byte("{")) {
		v, err = firstArgument(trim(body[open+1:]))
	} else {
		v, err = ParseJSON(body)
	}
	if err != nil {
		return nil, err
	}
	if o, ok := v.(Object); ok && o.Find("d") >= 0 {
		v = o.Get("d")
	}
	return withoutTypes(v), nil
}

// firstArgument reads the first of a call's arguments. A second one with the
// status and a semicolon may follow.
func firstArgument(arguments []byte) (Value, error) {
	p := newJSONParser(arguments)
	v, err := p.value(maxDepth)
	if err != nil {
		return nil, err
	}
	rest := trim(arguments[p.decoder.InputOffset():])
	if !bytes.HasPrefix(rest, []byte(")")) && !bytes.HasPrefix(rest, []byte(",")) {
		return nil, refusal.New(refusal.BadShape, "the script call has no end")
	}
	return v, nil
}

func withoutTypes(v Value) Value {
	switch v := v.(type) {
	case []Value:
		for i := range v {
			v[i] = withoutTypes(v[i])
		}
	case Object:
		v = slices.DeleteFunc(v, func(m Member) bool { return m.Name == "__type" })
		for i := range v {
			v[i].Value = withoutTypes(v[i].Value)
		}
		return v
	}
	return v
}

// trim removes a byte order mark and surrounding space.
func trim(body []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
}

// budget counts the values of one body.
type budget struct{ values int }

// spend counts one value. It refuses a body with too many values, or with one
// that lies too deep.
func (b *budget) spend(depth int) error {
	b.values++
	switch {
	case depth == 0:
		return refusal.New(refusal.BadShape, "nested more than %d levels deep", maxDepth)
	case b.values > maxValues:
		return refusal.New(refusal.TooLarge, "more than %d values", maxValues)
	}
	return nil
}

type jsonParser struct {
	decoder *json.Decoder
	budget  budget
}

func newJSONParser(body []byte) *jsonParser {
	decoder := json.NewDecoder(bytes.NewReader(trim(body)))
	decoder.UseNumber()
	return &jsonParser{decoder: decoder}
}

func (p *jsonParser) token() (json.Token, error) {
	token, err := p.decoder.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, refusal.New(refusal.BadShape, "not JSON: %w", err)
	}
	return token, nil
}

func (p *jsonParser) value(depth int) (Value, error) {
	token, err := p.token()
	if err != nil {
		return nil, err
	}
	if err := p.budget.spend(depth); err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		return p.list(depth - 1)
	case json.Delim('{'):
		return p.object(depth - 1)
	}
	return token, nil
}

func (p *jsonParser) list(depth int) (Value, error) {
	list := []Value{}
	for p.decoder.More() {
		item, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	_, err := p.token() // the closing bracket
	return list, err
}

func (p *jsonParser) object(depth int) (Value, error) {
	o := Object{}
	for p.decoder.More() {
		name, err := p.token()
		if err != nil {
			return nil, err
		}
		value, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		o = append(o, Member{name.(string), value}) // the decoder accepts only strings as names
	}
	_, err := p.token() // the closing brace
	return o, err
}
