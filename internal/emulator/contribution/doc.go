// Package contribution plays the contribution service: seven operations by which
// a customer proposes changes of addresses (MAK) and identities (MIK). It queues
// what passes its checks, and changes nothing in the world.
//
// The wire facts are in docs/wire/contribution.md. Of the further names that
// older descriptions have, only the second name of removeMIK's identity key is
// accepted.
package contribution
