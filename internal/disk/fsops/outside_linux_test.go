package fsops

import "testing"

func TestUsersOutsideOfTheNamespaceAreThoseWithoutAnIDInIt(t *testing.T) {
	for mapped, want := range map[string]int{
		"         0          0 4294967295\n":                     -1, // no namespace
		"         0      23901          1\n":                     65534,
		"         0       1000          1\n 1 100000      65536": -1, // a user in it has the id, too
		"     65534      23901          1\n":                     -1,
		"no map":                                                 -1,
	} {
		if got := outsideOf(mapped, "65534\n"); got != want {
			t.Errorf("%q: got %d, want %d", mapped, got, want)
		}
	}
}
