package gazetteer

import (
	"slices"
	"strings"
	"unicode"
)

// words are the words of an address, for matching. They are in lower case.
type words struct {
	line       []string // of the delivery line, abbreviated
	place      []string // of city, state, postal code and country
	searchable []string // a search may give the beginning of these
	plus4      string   // a search must give all of this
}

func wordsOf(a *Address) words {
	place := split(a.City + " " + a.State + " " + a.ZIPPlus4() + " us usa united states of america")
	place = append(place, a.ZIP+a.Plus4, strings.ToLower(a.County), "county")
	return words{
		line: canonical(a.Line), place: place,
		searchable: split(joined(a.Line, a.City, a.State, a.ZIP)), plus4: a.Plus4,
	}
}

// abbreviations are the forms of words in which addresses are compared.
var abbreviations = map[string]string{
	"street": "st", "court": "ct", "avenue": "ave", "av": "ave", "road": "rd", "lane": "ln", "wy": "way", "lp": "loop",
	"north": "n", "south": "s", "east": "e", "west": "w",
	"apartment": "apt", "unit": "apt", "suite": "apt", "ste": "apt",
	"kansas": "ks", "missouri": "mo",
}

// split returns the words of a text in lower case: letters and digits. The sign #
// stands for a unit, and P.O. is one word.
func split(text string) []string {
	text = strings.NewReplacer("#", " apt ", "p.o.", "po").Replace(strings.ToLower(text))
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// canonical is split with abbreviations. "Apt # 3" gives one "apt".
func canonical(text string) []string {
	list := split(text)
	for i, word := range list {
		if short, ok := abbreviations[word]; ok {
			list[i] = short
		}
	}
	return slices.CompactFunc(list, func(a, b string) bool { return a == "apt" && b == "apt" })
}

// Match finds an address by its delivery line and the known parts of its place. It
// ignores case, punctuation and common abbreviations, and accepts a ZIP+4 as zip.
// It returns nil when no address fits, or more than one.
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

// isIn compares an address with a place. "" fits all addresses.
func (a *Address) isIn(city, state, zip string) bool {
	same := func(given, own string) bool {
		given = strings.Join(canonical(given), " ")
		return given == "" || given == strings.ToLower(own)
	}
	digits := unformatted(zip)
	return same(city, a.City) && same(state, a.State) &&
		(digits == "" || digits == a.ZIP || digits == a.ZIP+a.Plus4)
}

// MatchFreeForm finds an address by a text: its delivery line, then any words of
// its place. It returns nil when no address fits, or more than one.
func (w *World) MatchFreeForm(text string) *Address {
	given := canonical(text)
	var found *Address
	for _, a := range w.addresses {
		if !w.words[a].matchesLine(given) {
			continue
		}
		if found != nil {
			return nil
		}
		found = a
	}
	return found
}

// matchesLine returns whether given is the delivery line, followed by words of the
// place.
func (k words) matchesLine(given []string) bool {
	if len(given) < len(k.line) || !slices.Equal(given[:len(k.line)], k.line) {
		return false
	}
	return !slices.ContainsFunc(given[len(k.line):], func(word string) bool { return !slices.Contains(k.place, word) })
}

// Search returns the addresses that fit a partial text, in the order of Addresses.
// Each word of the text is the Plus4 or the beginning of a word of the address. An
// empty text finds nothing.
func (w *World) Search(text string) []*Address {
	typed := split(text)
	if len(typed) == 0 {
		return nil
	}
	var found []*Address
	for _, a := range w.addresses {
		if w.words[a].matchesPrefixes(typed) {
			found = append(found, a)
		}
	}
	return found
}

func (k words) matchesPrefixes(typed []string) bool {
	for _, part := range typed {
		begins := func(word string) bool { return strings.HasPrefix(word, part) }
		if part != k.plus4 && !slices.ContainsFunc(k.searchable, begins) {
			return false
		}
	}
	return true
}
