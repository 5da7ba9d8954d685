//go:build !race

package e2e

// raceFlags are the flags that build the program as the tests themselves are built.
var raceFlags []string
