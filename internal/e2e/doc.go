// Package e2e is the harness of the end-to-end tests: a Host is a machine with a
// configuration, a data directory and a provider, and a Process is a syncd that runs on it.
// The folders below hold the tests, by what they tell; crash has those of kills,
// power cuts and full disks.
//
// The tests run the program itself, as a build without the race detector, which needs a
// fifth of the CPU time: the packages of the program test what they do under it. After
// WithRace, processes that keep running are a build with the race detector. The provider is
// an emulator in the process of the test.
//
// The program never imports this package.
package e2e
