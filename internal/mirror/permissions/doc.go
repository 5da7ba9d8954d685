// Package permissions gives everything that readers see of a data directory the same
// permissions, because hard links of a file share them.
//
// A change of permissions changes everything that readers see, before a sync goes on.
// state/permissions says `changing` meanwhile, so that the next start repeats it after
// a crash. Objects get their permissions before they are renamed into objects/.
package permissions
