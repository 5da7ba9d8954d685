// Package download turns the missing contents of manifests into objects. Each content
// is downloaded once, even if several manifests, syncs and repairs want it at the same
// time: the others wait for it and take the object, or download it themselves after a
// failure. The package knows nothing of the steps of a sync: it asks a Wanter whether a
// content is still wanted, and tells it what became of it.
//
// The largest contents go first, and many small ones beside a few large ones: at most
// transfers.files large ones and 64 small ones of each manifest, and as many over all
// syncs, without those that crawl (less than 64 KiB in 10 s). Contents that come in packs
// are taken out of them first, two packs at once. If one manifest's link fails, another
// manifest's link to the same content is tried.
package download
