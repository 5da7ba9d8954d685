// Package crash has the end-to-end tests of what must survive: kills and faults at each step
// on disk, power cuts, full disks, slow providers, and a soak.
package crash
