// Package sources takes each sync from the first of several sources that can be used.
//
// A sync begins with the preferred source. The manifests that it cannot have there, because the
// source is unreachable, frozen or refused, are set aside: nothing is recorded of them but what
// was downloaded, and the next source goes on from there, because contents are proven by their
// digests. A source that failed rests for a while, from 10 s to 5 min; a sync that somebody asks
// for tries all. So the preferred source is in use again at the first sync after it works.
package sources
