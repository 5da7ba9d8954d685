// Package patches makes and keeps the patches that other hosts may take in the place of whole
// contents: from the contents that earlier revisions had under the same path, and from the
// empty content, which is the whole in compressed form.
//
//	patches/<old>-<new>
//
// A patch is of package patch. Nobody needs one: whoever takes it proves the result as it
// proves any download, and fetches the whole if the patch is gone or wrong. So patches are
// not read again, and losing them loses nothing.
//
// # Making
//
// A Maker works through a round when something new is live, and at start: see wanted. The
// work is done by a child, which is this program again, at the lowest priority. It has a heap
// and a collector of its own, so that nothing of it slows down or grows the daemon, and ends
// with the daemon because its input ends; beside a sync it works for a tenth of the time: see
// pace. main must call Work first if IsWorker is true.
//
// A patch is kept if it is smaller than the share of its content that the configuration says,
// and smaller than the patch from the empty content. The sizes of the others are remembered,
// so that no start makes them again.
//
// A patch is written under a temporary name, made durable and renamed. The next start removes
// what a crash left.
//
// # Room
//
// Config.Room says how much patches may take. They are the first to go when a sync needs room:
// see Maker.Yield.
//
// A patch goes when no revision on disk has its new content. When a content is destroyed, the
// patches from it and to it go, because they hold parts of it.
package patches
