// Package syncer updates the mirror from the provider. Every sync takes the same steps,
// whether it is the first, the hundredth or the one after a crash. ARCHITECTURE.md
// lists them; Sync calls them in this order.
//
// A manifest that fails in any step is settled as failed or refused, and the others go
// on. A sync on demand, a changed configuration and an expired recheck_interval ask for
// the list and all digests even if the release is the served one. A failed release is
// reported again, without a request, until its backoff ends.
//
// # Waves
//
// Manifests are asked side by side, with at most 64 small requests under way. Downloads
// usually begin when all manifests have a plan. When the questions about one take long,
// the others go on without it after transfers.publish_after, and it follows in a later
// wave. Beside that, publishMeanwhile waits until the first manifest is ready to
// publish; if the sync still runs transfers.publish_after later, it publishes and
// records all finished manifests, and waits for the next one.
//
// Before downloads begin, the planned contents are saved, so that pruning after a crash
// keeps unfinished downloads. While others download, a manifest with a digest mismatch
// is looked at again: if the provider changed digests meanwhile, its plan starts over,
// once.
//
// Before a publish, the sync compares its manifests with what is served by then: after
// a rollback meanwhile, the hold and the guards decide again. Files of views that clash
// are refused before the downloads; which views change is decided at each publish, with
// the records that the generation will have.
//
// # Sizes
//
// Metadata tells the size of a file before its download. It costs a request, and for a small
// file as much as the download. So of a list of 512 or more files, only about 256 are asked
// for their sizes, unless other hosts are to be told. If those are small, and ten times what
// the others would then take is free, the others are assumed to be like them. A file that is
// larger all the same ends its download when its response tells so. The manifest then starts
// over: it keeps what has arrived, asks for the sizes of all other files, and looks for space
// for them, as it would have done before.
//
// # The life of a job
//
// A job is a manifest in a sync. What its steps find are values that follow each other:
// listed, planned, fetch, end. A step takes one and returns the next; a plan does not change,
// and downloads share the fetch. A step that ends a job without a failure returns an end as
// its error. The job's goroutine owns its other fields; whatever other goroutines see of it
// is in its life, under a lock. A recorded job changes no more, and its claim ends with the
// record, so the next sync of that manifest does not wait for the rest of this sync.
//
// A job holds a share of the memory for lists from its list until its plan or its end.
// A list takes more only while that is free, and never waits while it is read: a slow
// list would hold up the others. A list that does not fit is measured and dropped,
// waits for its turn without a request slot, and is requested again.
//
// # For followers
//
// With `serve`, a sync also asks Metadata of the files that it would not ask about, for
// which quarter and two-month period the provider has the same list, and ManifestList.
// A failure leaves the record without the mark `described`. Later syncs complete the
// records that lack it, also those from before `serve` was switched on.
package syncer
