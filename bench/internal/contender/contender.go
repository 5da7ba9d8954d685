// Package contender holds the ways to fetch a release into an empty directory and check
// its digests: syncd, scripts of well-known tools, and a bare Go loop.
package contender

import (
	"os/exec"

	"syncd/bench/internal/provider"
)

// Contender is one way.
type Contender struct {
	Name    string
	Needs   []string // programs
	Command func(p provider.Provider, dir string) (*exec.Cmd, error)
	Check   func(dir string, files int) error // checks the result; nil if Command fails on a wrong digest
}

// Missing returns the programs that are not installed.
func (c Contender) Missing() (programs []string) {
	for _, program := range c.Needs {
		if _, err := exec.LookPath(program); err != nil {
			programs = append(programs, program)
		}
	}
	return programs
}
