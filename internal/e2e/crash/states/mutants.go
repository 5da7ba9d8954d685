package states

import (
	"slices"
	"strings"
)

// Mutant is the trace of a program that is wrong in one step.
type Mutant struct {
	Name string // the fault, and the step that has it
	*Trace
}

// Mutants are a trace without each sync and each rename or link, and with each sync in the
// place of the change of a name after it. The numbers of the other events stay as they are.
func (t *Trace) Mutants() (all []Mutant) {
	for i, e := range t.events {
		if e.sync != nil || e.movesName() {
			all = append(all, t.mutant("without "+e.What, func(events []event) { events[i] = event{What: "nothing"} }))
		}
		if e.sync != nil && i+1 < len(t.events) && t.events[i+1].movesName() {
			all = append(all, t.mutant("late "+e.What+", after "+t.events[i+1].What, func(events []event) {
				events[i], events[i+1] = events[i+1], events[i]
			}))
		}
	}
	return all
}

// movesName is true for a call that gives an inode another name.
func (e event) movesName() bool {
	return strings.HasPrefix(e.What, "rename") || strings.HasPrefix(e.What, "link") || strings.HasPrefix(e.What, "symlink")
}

func (t *Trace) mutant(name string, change func([]event)) Mutant {
	mutant := *t
	mutant.events = slices.Clone(t.events)
	change(mutant.events)
	mutant.index()
	return Mutant{name, &mutant}
}
