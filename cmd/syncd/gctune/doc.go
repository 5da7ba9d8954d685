// Package gctune tunes the garbage collector for a process that is small most of
// the time and handles long lists now and then. Below the memory limit of the cgroup
// it collects more often rather than being killed.
package gctune
