// Package readers finds the processes that have mirrored files open or mapped, from
// /proc. It sees what the kernel shows to this user: as root, all processes of the own
// PID namespace.
package readers
