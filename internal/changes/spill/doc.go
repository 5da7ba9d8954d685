// Package spill keeps records that do not fit into memory in a scratch file without a name,
// in partitions that are read back one at a time. It leaves 256 MiB of the volume free.
package spill
