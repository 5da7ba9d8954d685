// Package bucket holds the form of a mirror in object storage: the names of its objects
// and the texts in them. A publisher writes it, followers read it. A parser accepts only
// texts that are safe to act on, because a follower does not trust the bucket.
//
// The order of writing is: objects, records, generation, current.json. So everything that
// current.json leads to is there. Unknown members of a text are ignored, so that a later
// version may add some; a text of another form is refused.
package bucket
