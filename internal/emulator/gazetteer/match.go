package gazetteer

import (
	"slices"
	"strings"
	"unicode"
)

// words are those of an address, lower case and abbreviated, for matching.
type words struct {
	line  []string // of the delivery line
	place []string // of city, state, postal code and country
	begun []string // those that a search may name by their beginning
	whole string   // the Plus4: its digits would pass for the beginning of a number
}

func wordsOf(a *Address) words {
	place := split(a.City + " " + a.State + " " + a.ZIPPlus4() + " us usa united states of america")
	place = append(place, a.ZIP+a.Plus4, strings.ToLower(a.County), "county")
	return words{
		line: canonical(a.Line), place: place,
		begun: split(joined(a.Line, a.City, a.State, a.ZIP)), whole: a.Plus4,
	}
}

// abbreviations are the forms that addresses are compared in.
var abbreviations = map[string]string{
	"street": "st", "court": "ct", "avenue": "ave", "av": "ave", "road": "rd", "lane": "ln", "wy": "way", "lp": "loop",
	"north": "n", "south": "s", "east": "e", "west": "w",
	"apartment": "apt", "unit": "apt", "suite": "apt", "ste": "apt",
	"kansas": "ks", "missouri": "mo",
}

// split returns the lower-case words of a text; all but letters and digits
// parts words. The sign # stands for a unit; the dots of "P.O." part nothing.
func split(text string) []string {
	text = strings.NewReplacer("#", " apt ", "p.o.", "po").Replace(strings.ToLower(text))
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// canonical is split with abbreviations; "apt apt", from "Apt # 3", is one.
func canonical(text string) []string {
	list := split(text)
	for i, word := range list {
		if short, ok := abbreviations[word]; ok {
			list[i] = short
		}
	}
	return slices.CompactFunc(list, func(a, b string) bool { return a == b && a == "apt" })
}

// Match finds an address by its delivery line and what is known of its place;
// case, punctuation and the usual abbreviations make no difference, and zip may
// be a ZIP+4. It returns nil when nothing fits, or more than one address.
func (w *World) Match(line, city, state, zip string) *Address {
	var found *Address
	for _, a := range w.byLine[strings.Join(canonical(line), " ")] {
		if !a.isIn(city, state, zip) {
			continue
		}
		if found != nil {
			return nil
		}
		found = a
	}
	return found
}

// isIn compares what is given; "" fits any.
func (a *Address) isIn(city, state, zip string) bool {
	same := func(given, own string) bool {
		given = strings.Join(canonical(given), " ")
		return given == "" || given == strings.ToLower(own)
	}
	digits := unformatted(zip)
	return same(city, a.City) && same(state, a.State) &&
		(digits == "" || digits == a.ZIP || digits == a.ZIP+a.Plus4)
}

// MatchFreeForm finds an address by a text that begins with its delivery line
// and goes on with any part of its place. It returns nil when nothing fits, or
// more than one address.
func (w *World) MatchFreeForm(text string) *Address {
	given := canonical(text)
	var found *Address
	for _, a := range w.addresses {
		if !w.words[a].spell(given) {
			continue
		}
		if found != nil {
			return nil
		}
		found = a
	}
	return found
}

// spell tells whether given is the delivery line followed by words of the place.
func (k words) spell(given []string) bool {
	if len(given) < len(k.line) || !slices.Equal(given[:len(k.line)], k.line) {
		return false
	}
	for _, word := range given[len(k.line):] {
		if !slices.Contains(k.place, word) {
			return false
		}
	}
	return true
}

// Search returns the addresses that a partial text may become, in the order of
// Addresses: each of its words begins some word of the address, or is its Plus4.
// An empty text finds nothing.
func (w *World) Search(text string) []*Address {
	typed := split(text)
	if len(typed) == 0 {
		return nil
	}
	var found []*Address
	for _, a := range w.addresses {
		if w.words[a].begin(typed) {
			found = append(found, a)
		}
	}
	return found
}

func (k words) begin(typed []string) bool {
	for _, part := range typed {
		begins := func(word string) bool { return strings.HasPrefix(word, part) }
		if part != k.whole && !slices.ContainsFunc(k.begun, begins) {
			return false
		}
	}
	return true
}
