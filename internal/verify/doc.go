// Package verify proves content: it computes digests while bytes pass and compares
// them with the expected digest from the provider's Hash endpoint. Bytes are
// unverified until a function of this package has checked them. It also computes the
// SHA-256 of every content, which is the name of its object.
package verify
