package control

import (
	"errors"
	"fmt"
)

// Limits of the values in an answer. `{}` takes two bytes of it and hundreds of memory, so a
// program in the engine's place could fill the memory with a line that is not long.
const (
	maxEntries = 500_000 // of lists
	maxDepth   = 100     // lists and objects in each other
)

var (
	errEntries = fmt.Errorf("the answer has lists of more than %d entries: is it the running syncd's?", maxEntries)
	errDepth   = errors.New("the answer has too many lists in each other: is it the running syncd's?")
)

// checkEntries refuses a JSON text that takes far more memory than bytes. It need not be
// valid.
func checkEntries(text []byte) error {
	var open []byte // the brackets around the place
	entries, isString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case isString && c == '\\':
			i++
		case c == '"':
			isString = !isString
		case isString:
		case c == '[' || c == '{':
			if open = append(open, c); len(open) > maxDepth {
				return errDepth
			}
			if c == '[' {
				entries++
			}
		case (c == ']' || c == '}') && len(open) > 0:
			open = open[:len(open)-1]
		case c == ',' && len(open) > 0 && open[len(open)-1] == '[':
			entries++
		}
		if entries > maxEntries {
			return errEntries
		}
	}
	return nil
}
