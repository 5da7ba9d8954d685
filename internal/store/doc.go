// Package store keeps the state of syncd between syncs in one bbolt file: when each
// manifest was checked and with which result, the contents that a failed sync still
// wants, the proofs of objects, the cool-downs of the provider, the history, and the
// events that hooks are still to be told. The disk is the truth about what is served:
// losing the state costs no download.
//
// # Damage
//
// A damaged file is set aside as .damaged-…, a file of a newer syncd as .newer-…, and a
// new one is made. The next sync downloads nothing, but reads reused objects once.
// Until the new state knows every manifest, for at most recheck_interval, pruning
// removes only objects that were in service.
//
// bbolt trusts the pages of its file and can crash or loop on damage. The store
// therefore checks every page, length and branch key before bbolt reads the file, and
// turns panics into errors. bbolt's own check overlooks some damage;
// TestBboltCheckOverlooksDamage shows which. After a failed write, other than for a
// full disk, the process stops writing the state.
package store
