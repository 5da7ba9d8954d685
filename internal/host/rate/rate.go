package rate

import (
	"errors"
	"math"
	"strings"

	"github.com/dustin/go-humanize"
)

// The errors of this package say what is wrong with a text, and quote nothing of it.
var (
	errNoSize   = errors.New("is not a size")
	errTooLarge = errors.New("is too large")
	errTooSmall = errors.New("is less than one byte per second")
)

// ParseRate parses bytes per second with a unit, such as 50MiB or 50MiB/s. "", 0 and off
// mean no limit, which is 0.
func ParseRate(text string) (int64, error) {
	text = strings.TrimSpace(text)
	if text == "" || strings.EqualFold(text, "off") {
		return 0, nil
	}
	if rate, ok := strings.CutSuffix(strings.ToLower(text), "/s"); ok {
		text = strings.TrimSpace(rate)
	}
	n, err := humanize.ParseBytes(text)
	switch {
	case err != nil:
		return 0, errNoSize
	case n > math.MaxInt64:
		return 0, errTooLarge
	case n == 0 && strings.ContainsAny(text, "123456789"):
		return 0, errTooSmall
	}
	return int64(n), nil
}
