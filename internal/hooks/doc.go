// Package hooks delivers events to commands and webhooks: at least once, and in order
// for each hook. A delivery that fails is tried again with growing pauses, and given up
// after a week.
//
// Each hook has a worker of its own, so a slow hook holds up no other. The worker takes
// the first delivery from the state, makes one attempt and records it. Pauses are kept
// in memory: a start tries at once. A delivery that was made but could not be removed
// is not made again while the process runs. A process that stops cancels running
// attempts and records nothing of them.
package hooks
