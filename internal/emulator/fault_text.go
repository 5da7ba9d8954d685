package emulator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// commonKeys are the parameters that every kind takes.
var commonKeys = []string{"kind", "path", "host", "skip", "times"}

// parameter is a key of the text form.
type parameter struct {
	key string
	get func(Fault) string // "" when zero
	set func(*Fault, string) error
}

// parameters are in the order in which String writes them.
var parameters = []parameter{
	stringKey("kind", func(f *Fault) *string { return &f.Kind }),
	stringKey("path", func(f *Fault) *string { return &f.Path }),
	stringKey("host", func(f *Fault) *string { return &f.Host }),
	numberKey("skip", func(f *Fault) *int { return &f.Skip }),
	numberKey("times", func(f *Fault) *int { return &f.Times }),
	numberKey("status", func(f *Fault) *int { return &f.Status }),
	{
		key: "delay",
		get: func(f Fault) string {
			if f.Delay == 0 {
				return ""
			}
			return f.Delay.String()
		},
		set: func(f *Fault, s string) (err error) {
			if f.Delay, err = time.ParseDuration(s); err != nil {
				return fmt.Errorf("%q is not a duration such as 2s", s)
			}
			return nil
		},
	},
	numberKey("after", func(f *Fault) *int64 { return &f.After }),
	numberKey("rate", func(f *Fault) *int64 { return &f.Rate }),
	stringKey("retry_after", func(f *Fault) *string { return &f.RetryAfter }),
	stringKey("shape", func(f *Fault) *string { return &f.Shape }),
	stringKey("type", func(f *Fault) *string { return &f.Type }),
	stringKey("location", func(f *Fault) *string { return &f.Location }),
	stringKey("body", func(f *Fault) *string { return &f.Body }),
	stringKey("date", func(f *Fault) *string { return &f.Date }),
}

func stringKey(key string, at func(*Fault) *string) parameter {
	return parameter{
		key: key,
		get: func(f Fault) string { return *at(&f) },
		set: func(f *Fault, s string) error {
			*at(f) = s
			return nil
		},
	}
}

func numberKey[T int | int64](key string, at func(*Fault) *T) parameter {
	return parameter{
		key: key,
		get: func(f Fault) string {
			if *at(&f) == 0 {
				return ""
			}
			return strconv.FormatInt(int64(*at(&f)), 10)
		},
		set: func(f *Fault, s string) error {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil || int64(T(n)) != n {
				return fmt.Errorf("%q is not a whole number", s)
			}
			*at(f) = T(n)
			return nil
		},
	}
}

// ParseFault reads the text form of a fault: key=value pairs with commas between,
// such as "kind=status,status=503,path=/Manifest/*,times=2". A value with a comma
// is a Go string in double quotes.
func ParseFault(s string) (Fault, error) {
	var f Fault
	seen := make(map[string]bool)
	for rest := strings.TrimSpace(s); rest != ""; {
		key, value, tail, err := cutParameter(rest)
		if err != nil {
			return Fault{}, fmt.Errorf("fault %q: %w", s, err)
		}
		if seen[key] {
			return Fault{}, fmt.Errorf("fault %q: %s is given twice", s, key)
		}
		if err := f.set(key, value); err != nil {
			return Fault{}, fmt.Errorf("fault %q: %w", s, err)
		}
		seen[key], rest = true, tail
	}
	if err := f.checkKeys(seen); err != nil {
		return Fault{}, fmt.Errorf("fault %q: %w", s, err)
	}
	if err := f.check(); err != nil {
		return Fault{}, fmt.Errorf("fault %q: %w", s, err)
	}
	return f, nil
}

// cutParameter cuts the first key=value from s.
func cutParameter(s string) (key, value, rest string, err error) {
	key, rest, ok := strings.Cut(s, "=")
	key = strings.ToLower(strings.TrimSpace(key))
	if !ok {
		return "", "", "", fmt.Errorf("%q is not key=value", s)
	}
	if !strings.HasPrefix(rest, `"`) {
		value, rest, _ = strings.Cut(rest, ",")
		return key, value, rest, nil
	}
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return "", "", "", fmt.Errorf("%s: the closing quote is missing", key)
	}
	if value, err = strconv.Unquote(quoted); err != nil {
		return "", "", "", fmt.Errorf("%s: %w", key, err)
	}
	rest, ok = strings.CutPrefix(rest[len(quoted):], ",")
	if !ok && rest != "" {
		return "", "", "", fmt.Errorf("%s: a comma must follow the closing quote", key)
	}
	return key, value, rest, nil
}

func (f *Fault) set(key, value string) error {
	for _, p := range parameters {
		if p.key != key {
			continue
		}
		if err := p.set(f, value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	}
	return fmt.Errorf("unknown key %q: use one of %s", key, strings.Join(allKeys(), ", "))
}

func allKeys() []string {
	keys := make([]string, len(parameters))
	for i, p := range parameters {
		keys[i] = p.key
	}
	return keys
}

// checkKeys returns an error for a parameter that the kind would ignore.
func (f Fault) checkKeys(given map[string]bool) error {
	if f.Kind == "" {
		return fmt.Errorf("kind is missing: use one of %s", strings.Join(Kinds(), ", "))
	}
	own, known := kinds[f.Kind]
	for _, key := range allKeys() {
		if known && given[key] && !slices.Contains(own, key) && !slices.Contains(commonKeys, key) {
			return fmt.Errorf("kind %s does not take %s: it takes %s",
				f.Kind, key, strings.Join(slices.Concat(commonKeys, own), ", "))
		}
	}
	return nil
}

// String returns the text form for ParseFault.
func (f Fault) String() string {
	var pairs []string
	for _, p := range parameters {
		if v := p.get(f); v != "" {
			pairs = append(pairs, p.key+"="+quoteValue(v))
		}
	}
	return strings.Join(pairs, ",")
}

// quoteValue quotes a value that cutParameter would misread.
func quoteValue(v string) string {
	quoted := strconv.Quote(v)
	if strings.Contains(v, ",") || v != strings.TrimSpace(v) || quoted != `"`+v+`"` {
		return quoted
	}
	return v
}
