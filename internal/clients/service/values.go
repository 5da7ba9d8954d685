package service

import (
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// OneOf is a closed set of words. Case does not matter; the spelling given here
// is sent.
func OneOf(values ...string) Kind {
	return Kind{Name: strings.Join(values, " | "), Values: values, check: func(s string) (string, error) {
		for _, v := range values {
			if strings.EqualFold(v, s) {
				return v, nil
			}
		}
		return "", fmt.Errorf("must be one of %s", strings.Join(values, ", "))
	}}
}

// Whole is a whole number, sent as text.
func Whole(least, most int64) Kind {
	return Kind{Name: fmt.Sprintf("whole number from %d to %d", least, most), check: whole(least, most)}
}

// Decimals is a number, sent as text.
func Decimals(least, most float64) Kind { return between("number", least, most) }

// Digits is a text of exactly count digits.
func Digits(count int) Kind { return digits(fmt.Sprintf("number of %d digits", count), count, count) }

// AtLeast is a text of at least count characters.
func AtLeast(count int) Kind {
	return Kind{Name: fmt.Sprintf("text of at least %d characters", count), check: func(s string) (string, error) {
		if utf8.RuneCountInString(strings.TrimSpace(s)) < count {
			return "", fmt.Errorf("needs at least %d characters", count)
		}
		return s, nil
	}}
}

// Options is a list of Name:Value pairs with commas between. known holds the
// kind of each option's value.
func Options(known map[string]Kind) Kind {
	var names []string
	for name, kind := range known {
		names = append(names, name+":"+strings.ReplaceAll(kind.Name, " | ", "|"))
	}
	slices.Sort(names)
	return Kind{Name: "list of Name:Value", Values: names, check: func(s string) (string, error) {
		return checkOptions(s, known, names)
	}}
}

func checkOptions(s string, known map[string]Kind, names []string) (string, error) {
	var checked []string
	for option := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(option), ":")
		kind, spelled := lookUp(known, name)
		if !ok || spelled == "" {
			return "", fmt.Errorf("must be a list of %s", strings.Join(names, ", "))
		}
		if value == "" {
			return "", fmt.Errorf("%s has no value", spelled)
		}
		value, err := kind.checked(value)
		if err != nil {
			return "", fmt.Errorf("%s %w", spelled, err)
		}
		checked = append(checked, spelled+":"+value)
	}
	return strings.Join(checked, ","), nil
}

func lookUp(known map[string]Kind, name string) (kind Kind, spelled string) {
	for spelled, kind := range known {
		if strings.EqualFold(spelled, name) {
			return kind, spelled
		}
	}
	return Kind{}, ""
}

func between(name string, least, most float64) Kind {
	return Kind{Name: fmt.Sprintf("%s from %g to %g", name, least, most), check: func(s string) (string, error) {
		f, err := strconv.ParseFloat(s, 64)
		isDecimal := !strings.ContainsAny(s, "xXpP_") // ParseFloat also reads Go's hexadecimal numbers
		if err != nil || !isDecimal || !(f >= least && f <= most) {
			return "", fmt.Errorf("must be a number from %g to %g", least, most)
		}
		return s, nil
	}}
}

func whole(least, most int64) func(string) (string, error) {
	return func(s string) (string, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < least || n > most {
			return "", fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		return strconv.FormatInt(n, 10), nil
	}
}

func digits(name string, least, most int) Kind {
	return Kind{Name: name, check: func(s string) (string, error) {
		if strings.Trim(s, "0123456789") != "" || len(s) < least || len(s) > most {
			return "", fmt.Errorf("must be a %s", name)
		}
		return s, nil
	}}
}

func truth(s string) (string, error) {
	switch lower := strings.ToLower(s); lower {
	case "true", "false":
		return lower, nil
	}
	return "", errors.New("must be true or false")
}

func twoLetters(s string) (string, error) {
	if len(s) != 2 || strings.ContainsFunc(s, func(r rune) bool { return r|0x20 < 'a' || r|0x20 > 'z' }) {
		return "", errors.New("must be a country's code of two letters (ISO 3166-1 alpha-2)")
	}
	return strings.ToUpper(s), nil
}

// email refuses a display name and a second address, which mail.ParseAddress
// would leave out.
func email(s string) (string, error) {
	parsed, err := mail.ParseAddress(s)
	if err != nil || parsed.Address != s {
		return "", errors.New("must be one e-mail address")
	}
	return s, nil
}
