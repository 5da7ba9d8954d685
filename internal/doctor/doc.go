// Package doctor looks for what keeps syncd from working on this machine: in the
// configuration, the unit, the permissions, the file system, the network, at the
// provider and in the running daemon. It changes nothing, except for a temporary folder
// in data_dir and a probe in the bucket of publish.s3.
//
// A check is a function that returns findings. One table lists the checks, from causes
// to effects, so the first failure is the one to repair first. A check is skipped when
// one that it needs did not pass. The texts hold no secret.
//
// The checks use the functions that the daemon uses. Functions that need the
// permissions of the daemon's user run in account.Do. The daemon tells its metrics over
// the control socket.
package doctor
