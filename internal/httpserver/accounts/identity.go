package accounts

import "net/netip"

// Identity is a client, whichever connection it uses.
type Identity struct {
	id       string
	address  netip.Prefix
	isAnyone bool
}

// Anyone is the identity of all clients together, where none shows an id and one client may
// have any number of addresses, as those of loopback. Among its places, the oldest goes first:
// connections that are held do not keep out new ones.
var Anyone = Identity{isAnyone: true}

// OfID is the identity of a client that showed an id with a name.
func OfID(name string) Identity { return Identity{id: name} }

// OfAddress is the identity of a client that showed none.
func OfAddress(address netip.Addr) Identity { return Identity{address: HostOf(address)} }

// HostOf returns the addresses of a host. One with IPv6 has a whole network of them.
func HostOf(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	host, _ := address.Prefix(bits) // bits fit the address
	return host
}
