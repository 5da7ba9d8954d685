// Package property plays the property service: the parcel at an address, the
// sales of a parcel, and the homes of an owner.
//
// The wire facts are in docs/wire/property.md.
package property
