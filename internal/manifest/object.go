package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// ObjectID names an object: the SHA-256 of its content. The zero value names none.
type ObjectID [sha256.Size]byte

// Object is content that is on disk, proven, under its ObjectID.
type Object struct {
	ID   ObjectID
	Size int64 // bytes
}

// ParseObjectID reads what String writes: 64 hex digits in lower case.
func ParseObjectID(text string) (id ObjectID, err error) {
	if len(text) != hex.EncodedLen(len(id)) {
		return ObjectID{}, fmt.Errorf("%.80q is not a SHA-256 in hex", text)
	}
	if _, err := hex.Decode(id[:], []byte(text)); err != nil || id.String() != text {
		return ObjectID{}, fmt.Errorf("%q is not a SHA-256 in lower-case hex", text)
	}
	return id, nil
}

// String is the ID in lower-case hex: the name of the object's file.
func (id ObjectID) String() string { return hex.EncodeToString(id[:]) }

// IsZero is true for the zero value, which names no object.
func (id ObjectID) IsZero() bool { return id == ObjectID{} }

// Digest is the ID as the digest that the object's content must have.
func (id ObjectID) Digest() Digest { return Digest{Algorithm: SHA256, Sum: id} }

// MarshalText writes the ID as String does.
func (id ObjectID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText reads the ID as ParseObjectID does.
func (id *ObjectID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseObjectID(string(text))
	return err
}
