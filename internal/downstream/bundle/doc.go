// Package bundle holds the form of a mirror that travels on a disk: a tar with the texts and
// contents of package bucket, in one file or cut into volumes that can be copied one by one.
//
// Texts come first, in the order in which a follower reads them; contents follow in the order
// of the records, each once. The first member of each volume says to which bundle it belongs
// and how many there are. A member that does not fit into a volume goes on in the next one.
// The same input always gives the same bytes.
//
// Nothing in a bundle is believed because of the bundle: a reader checks each byte of the form
// and each digest before the first byte is used, and a follower proves what it copies again. A
// volume has one spelling only, so that links, devices, sparse files and other features of tar
// do not exist here.
package bundle
