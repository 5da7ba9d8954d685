// Package priority lowers the priority of this process, so that work that may wait leaves
// CPU and disk to others.
package priority
