// Package offer is what an engine has for other hosts, in the forms in which the packages of
// downstream ask for it.
package offer
