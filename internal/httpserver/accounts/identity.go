package accounts

import "net/netip"

// Identity is a client, whichever connection it uses.
type Identity struct {
	id      string
	address netip.Prefix
}

// OfID is the identity of a client that showed an id with a name.
func OfID(name string) Identity { return Identity{id: name} }

// OfAddress is the identity of a client that showed none.
func OfAddress(address netip.Addr) Identity { return Identity{address: HostOf(address)} }

// HostOf returns the addresses of a host. One with IPv6 has a whole network of them, and every
// user of this host has 16 million, from 127.0.0.1 on.
func HostOf(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	bits := address.BitLen()
	switch {
	case address.Is6():
		bits = 64
	case address.IsLoopback():
		bits = 8
	}
	host, _ := address.Prefix(bits) // bits fit the address
	return host
}
