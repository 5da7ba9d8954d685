// Package inventory knows the contents that are on disk. It finds the object with an
// expected digest, proves it before a sync reuses it, and adds new proven files. It
// trusts an object without reading it while the size, time and inode of its file are
// those that it had when the content was proven. Any other object is read back first,
// with all cores.
//
// Objects without a record come from a killed sync. They are found by name, or by
// reading them if the provider's digests are MD5 or SHA1.
//
// An Inventory lives as long as its Syncer, a Session for one sync.
package inventory
