// Package probe asks the consumer of the data whether it works with what went live, and
// keeps the verdict.
//
//	state/probes/<manifest>    what is to be asked, and the verdicts
//
// A Trial is of one revision in service. It is written before the swap, so that a crash
// after the swap loses no probe. A crash after each step leaves:
//
//  1. Write the trial: one of a revision that is not served, which counts for nothing.
//  2. Swap: served, without a verdict. The next start goes on asking.
//  3. Write when the swap was: as 2. Until then, the time counts from step 1.
//  4. Ask: as 2. The supervisor has killed the command.
//  5. Write that the consumer works, or that a revision stays although it does not: the
//     verdict.
//  6. For a revision that must go back, instead of 5: stage it with the refusal (the next
//     start drops that, because the revision is served), write the trial of the revision that
//     comes back, and swap. Only that swap counts. Until then the next start asks once more.
package probe
