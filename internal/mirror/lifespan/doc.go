// Package lifespan keeps what is known of how long revisions may be used, beside what their
// releases say:
//
//   - the days that gates told,
//   - the revision that the operator let go live although it had expired,
//   - the revision that left `current` because it had expired, with the operator's orders,
//     which otherwise are in the records of `current`.
//
// Each manifest has one file, state/expiry/<manifest>. The files are apart from the state
// database, so that losing that loses nothing, and apart from the records of revisions, so
// that a rollback finds what a gate told long ago. An entry never says what is served: a
// withdrawn revision that `current` shows is served.
package lifespan
