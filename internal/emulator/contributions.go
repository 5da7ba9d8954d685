package emulator

import "syncd/internal/emulator/contribution"

// Contribution is a submission to the contribution service that was accepted.
type Contribution = contribution.Submission

// ContributionField is a value of a submission.
type ContributionField = contribution.Field

// Contributions returns the submissions accepted since the start or the last
// ResetContributions, in order.
func (e *Emulator) Contributions() []Contribution { return e.contributions.All() }

// ResetContributions empties the queue of submissions and counts from 1 again.
func (e *Emulator) ResetContributions() { e.contributions.Reset() }
