// Package metrics holds every series that syncd exports. Names and labels are part
// of the contract with dashboards and alerts. No label holds a file name or an
// address.
package metrics
