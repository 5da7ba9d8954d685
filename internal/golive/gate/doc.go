// Package gate lets a command of the operator decide whether a revision may go live.
// One gate of a manifest runs at a time: a sync and `activate` that wait for it use its
// verdict.
package gate
