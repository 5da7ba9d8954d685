// Package verification looks in a bucket for everything that the kept generations name: each text,
// each pack and patch, and each object with its size and its SHA-256. It uploads again what is
// missing or damaged, if this host has it.
package verification
